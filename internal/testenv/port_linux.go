package testenv

import (
	"fmt"
	"net"
	"sync"
)

// reserved has the sockets of reserve by their ports. Without a reference, they would be closed.
var reserved sync.Map

// reserve takes a port until this process ends. It returns an error if another call, of any process, has it. An
// abstract socket needs no file, and is of the same network namespace as the port.
func reserve(port int) error {
	l, err := net.Listen("unix", fmt.Sprint("@fanfold-test-port-", port))
	if err == nil {
		reserved.Store(port, l)
	}
	return err
}
