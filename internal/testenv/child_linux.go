package testenv

import "syscall"

// childAttributes makes the kernel send the child a signal when its parent dies, and keeps a terminal's
// Ctrl-C from reaching the child before its parent.
func childAttributes(orphaned syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: orphaned, Setpgid: true}
}
