package testenv

import "syscall"

// childAttributes makes the kernel kill the child when its parent dies, and keeps a terminal's
// Ctrl-C from reaching the child before its parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
