//go:build !linux

package testenv

import "syscall"

// childAttributes keeps a terminal's Ctrl-C from reaching the child before its
// parent.
func childAttributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
