package processors

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestRaise changes what the whole process has, so it is not parallel.
func TestRaise(t *testing.T) {
	cores := runtime.NumCPU()
	t.Cleanup(runtime.SetDefaultGOMAXPROCS)
	t.Setenv("GOMAXPROCS", "")
	is := func(what string, want int) {
		t.Helper()
		if n := runtime.GOMAXPROCS(0); n != want {
			t.Errorf("%s: %d processors, want %d", what, n, want)
		}
	}
	runtime.SetDefaultGOMAXPROCS()
	usual := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(cores)
	first := Raise()
	is("one", cores+extra)
	second := Raise()
	is("two", cores+extra)
	first()
	is("one is left", cores+extra)
	if Running() != 1 {
		t.Errorf("%d run", Running())
	}
	second()
	is("none", usual)

	runtime.GOMAXPROCS(cores + 1) // such as a process with a limit
	lower := Raise()
	is("limited", cores+1)
	lower()
	is("limited, none", cores+1)

	runtime.GOMAXPROCS(cores)
	t.Setenv("GOMAXPROCS", "2")
	lower = Raise()
	is("set", cores)
	lower()
	is("set, none", cores)
}

// TestYield: large work pauses while small work runs, if the machine has no processors for both. It is not parallel,
// because what runs is that of the process.
func TestYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pauses := func() bool {
			began := time.Now()
			Yield()
			return time.Since(began) > 0
		}
		Small()
		if pauses() {
			t.Error("no large work runs, and it pauses")
		}
		for range (runtime.NumCPU() + 1) / 2 {
			defer Raise()()
		}
		if !pauses() {
			t.Error("it does not pause for small work")
		}
		time.Sleep(recent)
		if pauses() {
			t.Error("it pauses for small work of some time ago")
		}
	})
}
