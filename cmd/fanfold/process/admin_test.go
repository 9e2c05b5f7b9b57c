package process

import (
	"net"
	"testing"
)

// TestLoopback tells which addresses other machines can reach.
func TestLoopback(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "0.0.0.0:1": false, "[::]:1": false, "192.0.2.1:1": false} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil || loopback(at) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
