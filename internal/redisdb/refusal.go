package redisdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// dialTimeout is the default of go-redis.
const dialTimeout = 5 * time.Second

// dialer returns a dialer of go-redis whose connections say why a server closes them at once. With
// encryption it is the dialer of go-redis itself: such a server says nothing before the handshake.
func dialer(timeout time.Duration, encryption *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	dial := redis.NewDialer(&redis.Options{DialTimeout: timeout, TLSConfig: encryption})
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			return &explained{TCPConn: tcp}, nil
		}
		return conn, err
	}
}

// explained is a connection to Redis. A server that accepts no more clients writes one line and
// closes. go-redis takes the line for an answer to its first command, which may fail, or the kernel
// discards it. The errors of the closed connection have the line.
type explained struct {
	*net.TCPConn
	reads atomic.Int32           // how many have returned something; 2: at least two
	line  atomic.Pointer[string] // the error that the server wrote first; nil: none, unknown yet
}

func (c *explained) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if reads := c.reads.Load(); n > 0 && reads < 2 {
		c.reads.Store(reads + 1)
		if line := refusalOf(b[:n]); reads == 0 && line != "" {
			c.line.Store(&line)
		}
	}
	return n, c.explain(err)
}

func (c *explained) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	return n, c.explain(err)
}

// explain adds the server's line to an error that means that it closed the connection.
func (c *explained) explain(err error) error {
	closed := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if !closed || c.reads.Load() == 2 {
		return err
	}
	line := c.line.Load()
	if line == nil {
		asked := askWhy(c.RemoteAddr())
		line = &asked
		c.line.Store(line)
	}
	if *line == "" {
		return err
	}
	// Two errors in one, because go-redis unwraps an error of one.
	return fmt.Errorf("%w: %w", fmt.Errorf("the server says %q", *line), err)
}

// refusalOf returns the error in what a server wrote; empty: none.
func refusalOf(written []byte) string {
	text, isError := strings.CutPrefix(string(written), "-")
	if !isError {
		return ""
	}
	return strings.TrimSpace(text)
}

// listenFor is how long a second connection waits: a server that refuses it says so at once.
const listenFor = 300 * time.Millisecond

// askWhy returns the error that a server writes to a connection that sends nothing; empty: none.
func askWhy(server net.Addr) string {
	conn, err := net.DialTimeout(server.Network(), server.String(), listenFor)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(listenFor)); err != nil {
		return ""
	}
	line := make([]byte, 200)
	n, _ := conn.Read(line)
	return refusalOf(line[:n])
}
