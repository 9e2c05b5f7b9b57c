package chaos

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
)

// tap is a relay between one worker and one server. It recognises the calls that pass through, and
// can kill the worker before a call reaches the server or before the answer reaches the worker. So
// every step of the product is a crash point, without a hook in the product.
type tap struct {
	server   string
	upstream string
	listener net.Listener
	names    map[string]string // scripts by their SHA-1
	// die is called before a call and before its answer are forwarded. If it returns true, it has killed
	// the worker, and nothing is forwarded.
	die func(steps []string, answer bool) bool

	mu    sync.Mutex
	open  map[net.Conn]bool
	wait  sync.WaitGroup
	ended bool
}

func newTap(t testing.TB, server, upstream string, names map[string]string, die func([]string, bool) bool) *tap {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{server: server, upstream: upstream, listener: l, names: names, die: die, open: map[net.Conn]bool{}}
	p.wait.Go(p.accept)
	return p
}

func (p *tap) addr() string { return p.listener.Addr().String() }

func (p *tap) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", p.upstream)
		if err != nil || !p.keep(client, up) {
			client.Close()
			continue
		}
		c := &tapped{tap: p, client: client, server: up}
		p.wait.Go(c.calls)
		p.wait.Go(c.answers)
	}
}

func (p *tap) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.ended {
			c.Close()
		}
		p.open[c] = true
	}
	return !p.ended
}

// close closes all connections and waits until the goroutines of the tap have ended.
func (p *tap) close() {
	p.listener.Close()
	p.mu.Lock()
	p.ended = true
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

// tapped is one connection.
type tapped struct {
	tap            *tap
	client, server net.Conn
	prepared       string // MySQL: name of the last prepared statement

	mu      sync.Mutex
	waiting []string // steps without an answer yet
}

// calls forwards what the worker sends.
func (c *tapped) calls() {
	defer c.end()
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.client.Read(buffer)
		if n > 0 {
			steps := c.steps(buffer[:n])
			if len(steps) > 0 {
				if c.tap.die(steps, false) {
					return
				}
				c.mu.Lock()
				c.waiting = append(c.waiting, steps...)
				c.mu.Unlock()
			}
			if _, err := c.server.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answers forwards what the server sends.
func (c *tapped) answers() {
	defer c.end()
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buffer)
		if n > 0 {
			c.mu.Lock()
			steps := c.waiting
			c.waiting = nil
			c.mu.Unlock()
			if len(steps) > 0 && c.tap.die(steps, true) {
				return
			}
			if _, err := c.client.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *tapped) end() {
	c.client.Close()
	c.server.Close()
	c.tap.mu.Lock()
	delete(c.tap.open, c.client)
	delete(c.tap.open, c.server)
	c.tap.mu.Unlock()
}

// steps returns the names of the calls that begin in these bytes.
func (c *tapped) steps(b []byte) (found []string) {
	switch c.tap.server {
	case "redis":
		found = c.tap.redisSteps(b)
	case "mysql":
		if len(b) < 5 || b[3] != 0 {
			return nil // the handshake, or a further packet
		}
		switch b[4] {
		case 0x16:
			c.prepared = statement(b[5:])
			found = []string{c.prepared}
		case 0x17:
			found = []string{c.prepared}
		case 0x03:
			found = []string{statement(b[5:])}
		}
	default:
		if method, _, ok := bytes.Cut(b[:min(8, len(b))], []byte(" ")); ok && bytes.Equal(bytes.ToUpper(method), method) {
			found = []string{string(method)}
		}
	}
	for i := range found {
		found[i] = c.tap.server + " " + found[i]
	}
	return found
}

var evalsha = []byte("evalsha\r\n$40\r\n")

func (p *tap) redisSteps(b []byte) (found []string) {
	for rest := b; ; {
		i := bytes.Index(rest, evalsha)
		if i < 0 || len(rest) < i+len(evalsha)+40 {
			break
		}
		rest = rest[i+len(evalsha):]
		found = append(found, p.names[string(rest[:40])])
	}
	if parts := bytes.SplitN(b, []byte("\r\n"), 4); len(found) == 0 && b[0] == '*' && len(parts) == 4 {
		found = append(found, strings.ToLower(string(parts[2])))
	}
	return found
}

// statement returns the name of an SQL statement.
func statement(sql []byte) string {
	text := strings.ToLower(string(sql[:min(len(sql), 2000)]))
	verb, _, _ := strings.Cut(text, " ")
	switch {
	case strings.Contains(text, "file_download_record"):
		return verb + " record"
	case verb == "select":
		return "listener"
	}
	return strings.TrimSpace(verb)
}
