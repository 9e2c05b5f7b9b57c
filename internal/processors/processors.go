// Package processors answers one question: how do small jobs stay quick while a large one runs?
//
// A large listener or fold computes for seconds. The scheduler of Go lets it do so for 10 ms at a time, on every
// processor that it knows, and a small job, which waits for the network a dozen times, waits that long each time. So
// the process has more processors (GOMAXPROCS) than the machine while large work runs: the operating system divides
// the machine's among their threads, and lets one that has waited begin at once. And while small work runs, large work
// pauses between its pieces, unless the machine has processors for both.
package processors

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Large is the size in bytes of a dataset, as JSON, from which work on it is large.
const Large = 1 << 20

// extra is how many more the process has: about as many goroutines of a large job compute at once.
const extra = 6

var (
	mu      sync.Mutex
	running int
	raised  bool
)

// Raise raises GOMAXPROCS for large work; call lower when that is over, once. It changes nothing in a process whose
// GOMAXPROCS is set, or which may use less than the machine: it would use its share up at once, and then stand still.
// It is safe for concurrent use.
func Raise() (lower func()) {
	mu.Lock()
	defer mu.Unlock()
	n := runtime.GOMAXPROCS(0)
	if running++; running == 1 && os.Getenv("GOMAXPROCS") == "" && n == runtime.NumCPU() {
		runtime.GOMAXPROCS(n + extra)
		raised = true
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if running--; running == 0 && raised {
			raised = false
			runtime.SetDefaultGOMAXPROCS()
		}
	}
}

// Running returns how much large work runs.
func Running() int {
	mu.Lock()
	defer mu.Unlock()
	return running
}

const (
	// recent is how long small work counts as running: a job waits for its servers between two pieces.
	recent = 30 * time.Millisecond
	// pause is about as long as a piece of large work takes, so that it takes half of the time.
	pause = 8 * time.Millisecond
)

var small atomic.Int64 // when a piece of small work last began, in ms

// Small says that a piece of work begins that may be small.
func Small() { small.Store(time.Now().UnixMilli()) }

// Yield is called between two pieces of large work. It pauses if small work runs, and the large work can take half of
// the machine.
func Yield() {
	if time.Now().UnixMilli()-small.Load() < recent.Milliseconds() && 2*Running() >= runtime.NumCPU() {
		time.Sleep(pause)
	}
}
