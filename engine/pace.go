package engine

import (
	"os"
	"runtime/debug"
	"sync"
)

// While the folds of a process have read much, memory is collected when the heap has
// grown by largePace percent, and not by UsualPace. What they hold has no pointers, so a
// collection has little to look at: with half of the memory the same work took the same
// time of the processor. Small jobs keep the usual pace, since a small heap grows by
// 30 % all the time. Whoever sets GOGC has decided.
const (
	largePace = 30
	largeRead = 8 << 20 // bytes of JSON, of all folds that are at work
)

// UsualPace is by how many percent the heap of a process that works on many small jobs
// may grow before memory is collected. It leases little, so that a collection mostly
// looks at the stacks of goroutines: with Go's 100 a small job took a fifth more of
// the processor.
const UsualPace = 400

// paces is what the folds of this process that are at work have read.
var paces struct {
	sync.Mutex
	bytes int64
	large bool
	usual int // while large
}

// pace is what one fold has read, a part of paces. It is safe for concurrent use.
type pace struct{ bytes int64 }

// read counts a chunk. What is stored says little: it may be compressed.
func (p *pace) read(bytes int64) {
	paces.Lock()
	defer paces.Unlock()
	p.bytes += bytes
	paces.bytes += bytes
	large := paces.bytes >= largeRead && (paces.large || os.Getenv("GOGC") == "")
	switch {
	case large && !paces.large:
		paces.usual = debug.SetGCPercent(largePace)
	case !large && paces.large:
		debug.SetGCPercent(paces.usual)
	}
	paces.large = large
}

// end is called when the fold leases nothing any more.
func (p *pace) end() { p.read(-p.bytes) }
