package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold"
)

// Redis is a private redis-server with the project's redis.conf.
type Redis struct {
	Addr     string // 127.0.0.1:port, for clients and other servers
	dir      string
	port     int    // its own; the port of Addr may be a relay's
	host     string // in a Network: the source address of its connections to other servers
	settings []string
	proc     *process
}

// StartRedis starts a server with files in dir, and waits until it answers. Settings are arguments,
// such as "--maxmemory", "64mb".
func StartRedis(ctx context.Context, dir string, settings ...string) (*Redis, error) {
	r, err := newRedis(dir, settings...)
	if err != nil {
		return nil, err
	}
	if err := r.Start(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// newRedis returns a server that is not started.
func newRedis(dir string, settings ...string) (*Redis, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "redis.conf"), fanfold.RedisConf, 0o600); err != nil {
		return nil, fmt.Errorf("testenv: redis.conf: %w", err)
	}
	return &Redis{Addr: "127.0.0.1:" + strconv.Itoa(port), dir: dir, port: port, settings: slices.Clone(settings)}, nil
}

// Start starts the server again after Stop or Kill, on the same port, with the same files and
// settings, and with more settings.
func (r *Redis) Start(ctx context.Context, more ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	args := slices.Concat([]string{filepath.Join(r.dir, "redis.conf"), "--port", strconv.Itoa(r.port), "--dir",
		r.dir}, r.settings, more)
	p, err := startProcess("redis-server", args...)
	if err != nil {
		return err
	}
	client := r.Client()
	defer client.Close()
	if err := p.await(ctx, func(ctx context.Context) error { return client.Ping(ctx).Err() }); err != nil {
		p.kill()
		return err
	}
	r.proc = p
	return nil
}

// URL returns the server's address as a redis:// URL, db 0.
func (r *Redis) URL() string { return "redis://" + r.Addr + "/0" }

// relayPort is the port of Addr.
func (r *Redis) relayPort() string { return strings.TrimPrefix(r.Addr, "127.0.0.1:") }

// Client returns a new client. The caller closes it.
func (r *Redis) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: r.Addr, Protocol: 3, DisableIdentity: true})
}

// Stop shuts the server down cleanly.
func (r *Redis) Stop() { r.proc.stop() }

// Freeze suspends the server until Thaw.
func (r *Redis) Freeze() { r.proc.signal(syscall.SIGSTOP) }

// Thaw resumes a server after Freeze.
func (r *Redis) Thaw() { r.proc.signal(syscall.SIGCONT) }

// Kill ends the server as a crash would.
func (r *Redis) Kill() { r.proc.kill() }
