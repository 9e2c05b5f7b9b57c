package testenv

import (
	"net"
	"strconv"
	"sync"
	"time"
)

// Network connects the servers of a set through relays that know who connects. An isolated server
// cannot reach the others or be reached by them, while clients still reach it. What was sent
// meanwhile arrives when it is healed.
type Network struct {
	mu        sync.Mutex
	listeners []net.Listener
	open      map[net.Conn]bool
	hosts     int
	off       string // source address of the isolated server
	closed    bool
}

// NewNetwork returns a network without servers.
func NewNetwork() *Network { return &Network{open: map[net.Conn]bool{}} }

// CutOff isolates a server from all others. Only one server can be isolated at a time.
func (n *Network) CutOff(r *Redis) { n.cut(r.host) }

// Heal ends CutOff.
func (n *Network) Heal() { n.cut("") }

func (n *Network) cut(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = host
}

// join puts relays in front of a server that is not started yet: in front of its port and, in a
// cluster, its bus port. The server announces the ports of the relays. It returns the bus relay's
// port.
func (n *Network) join(r *Redis, bus int) (busRelay int, err error) {
	r.host = n.newHost()
	r.settings = append(r.settings, "--bind-source-addr", r.host)
	if bus > 0 {
		if busRelay, err = n.relay(r.host, bus); err != nil {
			return 0, err
		}
		r.settings = append(r.settings, "--cluster-announce-bus-port", strconv.Itoa(busRelay))
	}
	port, err := n.relay(r.host, r.port)
	if err != nil {
		return 0, err
	}
	for _, kind := range []string{"replica", "cluster"} {
		r.settings = append(r.settings, "--"+kind+"-announce-ip", "127.0.0.1", "--"+kind+"-announce-port",
			strconv.Itoa(port))
	}
	r.Addr = "127.0.0.1:" + strconv.Itoa(port)
	return busRelay, nil
}

// relay starts a relay in front of a port of a server, and returns the relay's port.
func (n *Network) relay(host string, upstream int) (port int, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	n.listeners = append(n.listeners, l)
	go n.accept(l, host, "127.0.0.1:"+strconv.Itoa(upstream))
	return l.Addr().(*net.TCPAddr).Port, nil
}

// newHost returns a loopback address from which a server connects to others.
func (n *Network) newHost() string {
	n.hosts++
	return "127.0.1." + strconv.Itoa(n.hosts)
}

func (n *Network) accept(l net.Listener, host, upstream string) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			source, _, _ := net.SplitHostPort(from.RemoteAddr().String())
			apart := func() bool {
				n.mu.Lock()
				defer n.mu.Unlock()
				return n.off != "" && source != "127.0.0.1" && (source == n.off || host == n.off)
			}
			wait(apart)
			to, err := net.Dial("tcp", upstream)
			if err != nil || !n.add(from, to) {
				return
			}
			defer n.drop(from, to)
			defer to.Close()
			go pass(to, from, apart)
			pass(from, to, apart)
		}()
	}
}

// pass forwards data, except while the two sides are isolated from each other, until one of them
// closes.
func pass(from, to net.Conn, apart func() bool) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		got, err := from.Read(buffer)
		wait(apart)
		if _, failed := to.Write(buffer[:got]); err != nil || failed != nil {
			return
		}
	}
}

func wait(apart func() bool) {
	for apart() {
		time.Sleep(5 * time.Millisecond)
	}
}

func (n *Network) add(some ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range some {
		n.open[c] = true
	}
	return !n.closed
}

func (n *Network) drop(some ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range some {
		delete(n.open, c)
	}
}

// Close ends the relays. Stop the servers first.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed, n.off = true, ""
	for _, l := range n.listeners {
		_ = l.Close()
	}
	for c := range n.open {
		_ = c.Close()
	}
}
