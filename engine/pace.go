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

// reserve is never touched, so it takes no memory of the machine. It counts as a part of the
// heap.
var reserve []byte

// SetPace says for the whole process, once, when memory is collected: when the heap has grown
// by half of what it holds and of 96 MB. A process that works on small jobs holds little: at
// Go's own pace it would collect all the time, which costs a fifth of the processor. One that
// makes large joins holds a few hundred MB without pointers, of which a collection is cheap: at
// Go's own pace it would take half as much memory again. With GOMEMLIMIT it is collected late,
// until the limit is near; with GOGC as that says.
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
