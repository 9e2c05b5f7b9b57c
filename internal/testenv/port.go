package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// Servers get ports below the range from which the kernel assigns client ports: otherwise a client
// of any test may take the port of a server that is restarting.
const (
	lowestPort    = 10_000
	lowestClients = 32_768 // default of Linux, see /proc/sys/net/ipv4/ip_local_port_range
)

// FreePort returns a port of the loopback interface that was free a moment ago, and that no other test takes while this
// process lives: a server under load needs a second until it listens.
func FreePort() (int, error) {
	end := lowestClients
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &end)
	}
	var err error
	for range 100 {
		port := 0 // any, if the client range covers all ports
		if end > lowestPort {
			port = lowestPort + rand.IntN(end-lowestPort)
		}
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			port = l.Addr().(*net.TCPAddr).Port
			if err = errors.Join(l.Close(), reserve(port)); err == nil {
				return port, nil
			}
		}
	}
	return 0, errors.Join(errors.New("testenv: no free port"), err)
}
