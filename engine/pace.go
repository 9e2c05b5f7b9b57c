package engine

import (
	"os"
	"runtime/debug"
	"sync"
)

const (
	pacePercent = 50
	paceReserve = 96 << 20
	limitedPace = 400 // percent, where GOMEMLIMIT bounds the heap
)

// reserve counts as a part of the heap. It is never touched, so it uses no physical memory.
var (
	reserveMu sync.Mutex
	reserve   []byte
)

// SetPace configures the garbage collector of the process. It collects when the heap, plus a reserve
// of 96 MB, has grown by half. Go's default would collect all the time in a process
// with small jobs, which takes 1.13 times the CPU, and would take half as much memory again for
// large joins, whose few hundred MB without pointers are cheap to collect. GOMEMLIMIT makes
// collections rare until the limit is near; GOGC takes precedence. It is safe for concurrent use, and
// may be called again.
func SetPace() {
	reserveMu.Lock()
	defer reserveMu.Unlock()
	switch {
	case os.Getenv("GOGC") != "":
	case os.Getenv("GOMEMLIMIT") != "":
		debug.SetGCPercent(limitedPace)
	default:
		debug.SetGCPercent(pacePercent)
		if reserve == nil {
			reserve = make([]byte, paceReserve)
		}
	}
}
