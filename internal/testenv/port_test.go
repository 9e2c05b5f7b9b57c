//go:build linux

package testenv

import "testing"

// TestPortsAreTaken: no two servers that start at the same time have one port.
func TestPortsAreTaken(t *testing.T) {
	t.Parallel()
	taken := map[int]bool{}
	for range 500 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if taken[port] {
			t.Fatalf("port %d is taken", port)
		}
		taken[port] = true
	}
	for port := range taken {
		if reserve(port) == nil {
			t.Errorf("another process can take port %d", port)
		}
	}
}
