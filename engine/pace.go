package engine

import (
	"os"
	"runtime/debug"
)

const (
	pacePercent = 50
	paceReserve = 96 << 20
	limitedPace = 400 // percent, where GOMEMLIMIT bounds the heap
)

// reserve counts as a part of the heap. It is never touched, so it uses no physical memory.
var reserve []byte

// SetPace configures the garbage collector of the process; call it once. It collects when the heap,
// plus a reserve of 96 MB, has grown by half. Go's default would collect all the time in a process
// with small jobs, which takes 1.13 times the CPU, and would take half as much memory again for
// large joins, whose few hundred MB without pointers are cheap to collect. GOMEMLIMIT makes
// collections rare until the limit is near; GOGC takes precedence.
func SetPace() {
	switch {
	case os.Getenv("GOGC") != "":
	case os.Getenv("GOMEMLIMIT") != "":
		debug.SetGCPercent(limitedPace)
	default:
		debug.SetGCPercent(pacePercent)
		reserve = make([]byte, paceReserve)
	}
}
