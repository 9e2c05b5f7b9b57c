package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// RabbitMQ is a private node without plugins, with its own epmd. Only the benchmarks start one.
type RabbitMQ struct {
	Addr       string // 127.0.0.1:port, user and password guest
	node, epmd *process
}

// FindRabbitMQ returns the path of the program that StartRabbitMQ starts.
func FindRabbitMQ() (string, error) {
	// Debian's program on the PATH switches to the system's user and folders.
	const debian = "/usr/lib/rabbitmq/bin/rabbitmq-server"
	if _, err := os.Stat(debian); err == nil {
		return debian, nil
	}
	return find("rabbitmq-server")
}

// StartRabbitMQ starts a node with files in dir, and waits until it accepts connections.
func StartRabbitMQ(ctx context.Context, dir string) (*RabbitMQ, error) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	program, err := FindRabbitMQ()
	if err != nil {
		return nil, err
	}
	var ports [3]string
	for i := range ports {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		ports[i] = strconv.Itoa(port)
	}
	for name, content := range map[string]string{"plugins": "[].\n", "env.conf": "", "rabbitmq.conf": "",
		"advanced.config": "[].\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return nil, fmt.Errorf("testenv: RabbitMQ's %s: %w", name, err)
		}
	}
	r := &RabbitMQ{Addr: "127.0.0.1:" + ports[0]}
	if r.epmd, err = startProcess("epmd", "-port", ports[2], "-address", "127.0.0.1"); err != nil {
		return nil, err
	}
	if err := r.epmd.await(ctx, accepts("127.0.0.1:"+ports[2])); err != nil {
		r.Stop()
		return nil, err
	}
	// env becomes the program, and the program the node: one process, which ends with the node.
	r.node, err = startProcess("env",
		"HOME="+dir, // the cookie
		"ERL_EPMD_PORT="+ports[2], "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_NODENAME=bench"+ports[0]+"@localhost",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT="+ports[0], "RABBITMQ_DIST_PORT="+ports[1],
		"RABBITMQ_MNESIA_BASE="+filepath.Join(dir, "data"), "RABBITMQ_LOG_BASE="+filepath.Join(dir, "log"),
		"RABBITMQ_CONF_ENV_FILE="+filepath.Join(dir, "env.conf"),
		"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "rabbitmq"),
		"RABBITMQ_ADVANCED_CONFIG_FILE="+filepath.Join(dir, "advanced.config"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(dir, "plugins"),
		"RABBITMQ_ALLOW_INPUT=true", // the shell becomes the node instead of waiting for it
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-noinput -kernel inet_dist_use_interface {127,0,0,1}",
		program)
	if err == nil {
		err = r.node.await(ctx, accepts(r.Addr))
	}
	if err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

// accepts checks that a server accepts connections at addr.
func accepts(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// URL returns the node's address for clients.
func (r *RabbitMQ) URL() string { return "amqp://guest:guest@" + r.Addr + "/" }

// Stop shuts the node and its epmd down cleanly.
func (r *RabbitMQ) Stop() {
	if r.node != nil {
		r.node.stop()
	}
	r.epmd.stop()
}
