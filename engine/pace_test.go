package engine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"testing"
)

// TestSetPace changes what the whole process has, so it is not parallel.
func TestSetPace(t *testing.T) {
	// A process of its own: what others have freed would be cleared for the reserve, and so become
	// resident.
	const alone = "FANFOLD_TEST_PACE_ALONE"
	if os.Getenv(alone) == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSetPace$", "-test.v")
		c.Env = append(os.Environ(), alone+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	percent := func() uint64 {
		sample := []runtimemetrics.Sample{{Name: "/gc/gogc:percent"}}
		runtimemetrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := percent()
	t.Cleanup(func() {
		debug.SetGCPercent(int(before))
		reserve = nil
	})
	t.Setenv("GOGC", "80")
	if SetPace(); percent() != before {
		t.Errorf("GOGC is set, and the pace is %d", percent())
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "400MiB")
	if SetPace(); percent() != limitedPace || reserve != nil {
		t.Errorf("GOMEMLIMIT is set, and the pace is %d", percent())
	}
	t.Setenv("GOMEMLIMIT", "")
	resident := residentBytes(t)
	SetPace()
	runtime.GC()
	if grown := residentBytes(t) - resident; percent() != pacePercent || len(reserve) != paceReserve || grown > paceReserve/4 {
		t.Errorf("the pace is %d; %d bytes are reserved, and %d more are resident", percent(), len(reserve), grown)
	}
}

// residentBytes is the memory of the machine that this process takes.
func residentBytes(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc")
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}
