package engine

import (
	"os"
	"runtime/debug"
	"sync"

	"github.com/fanfold/fanfold/scripts"
)

// While large joins run, memory is collected when the heap has grown by largePace
// percent, and not by UsualPace. What they hold has no pointers, so a collection
// has little to look at: with half of the memory the same work took the same time of
// the processor. Small jobs keep the usual pace, since a small heap grows by 30 %
// all the time. Whoever sets GOGC has decided.
const (
	largePace = 30
	largeJob  = 32 << 20 // bytes in Redis
	largeRows = 400_000  // of as many bytes, which may be compressed
)

// UsualPace is by how many percent the heap of a process that works on many small jobs
// may grow before memory is collected. It holds little, so that a collection mostly
// looks at the stacks of goroutines: with Go's 100 a small job took a fifth more of
// the processor.
const UsualPace = 400

// paces counts the large joins of this process.
var paces struct {
	sync.Mutex
	large int
	usual int
}

// pace sets the pace for the fold of a job; the caller calls what it returns in the
// end.
func pace(state *scripts.State) (end func()) {
	var bytes, rows int64
	for _, task := range state.Tasks {
		bytes += task.Bytes
		rows += task.Rows
	}
	if bytes < largeJob && rows < largeRows || os.Getenv("GOGC") != "" {
		return func() {}
	}
	paces.Lock()
	defer paces.Unlock()
	if paces.large++; paces.large == 1 {
		paces.usual = debug.SetGCPercent(largePace)
	}
	return func() {
		paces.Lock()
		defer paces.Unlock()
		if paces.large--; paces.large == 0 {
			debug.SetGCPercent(paces.usual)
		}
	}
}
