package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold"
)

// Redis is a private redis-server with the project's redis.conf.
type Redis struct {
	Addr string // 127.0.0.1:port
	dir  string
	port int
	bus  int // port of a cluster node for the others
	proc *process
}

// StartRedis starts a server whose files are in dir, and waits until it
// answers. Extra arguments are settings, such as "--maxmemory", "64mb".
func StartRedis(ctx context.Context, dir string, extra ...string) (*Redis, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r := &Redis{Addr: "127.0.0.1:" + strconv.Itoa(port), dir: dir, port: port}
	if err := os.WriteFile(filepath.Join(dir, "redis.conf"), fanfold.RedisConf, 0o600); err != nil {
		return nil, fmt.Errorf("testenv: redis.conf: %w", err)
	}
	if err := r.Start(ctx, extra...); err != nil {
		return nil, err
	}
	return r, nil
}

// Start starts the server again, on the same port with the same files, after
// Stop or Kill.
func (r *Redis) Start(ctx context.Context, extra ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	args := append([]string{filepath.Join(r.dir, "redis.conf"), "--port", strconv.Itoa(r.port), "--dir", r.dir}, extra...)
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

// Client returns a new client, which the caller closes.
func (r *Redis) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: r.Addr, Protocol: 3, DisableIdentity: true})
}

// Stop ends the server in good order.
func (r *Redis) Stop() { r.proc.stop() }

// Freeze stops the server in the middle of what it does, until Thaw.
func (r *Redis) Freeze() { r.proc.signal(syscall.SIGSTOP) }

// Thaw lets a server go on after Freeze.
func (r *Redis) Thaw() { r.proc.signal(syscall.SIGCONT) }

// Kill ends the server as a crash would.
func (r *Redis) Kill() { r.proc.kill() }
