package testenv

import "syscall"

// childAttributes has the kernel kill the child when its parent is gone, and
// keeps a terminal's Ctrl-C from reaching it before its parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
