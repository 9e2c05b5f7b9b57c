package engine

import (
	"runtime/debug"
	"testing"

	"github.com/fanfold/fanfold/scripts"
)

// TestPace changes what all of the process has, so it is not parallel.
func TestPace(t *testing.T) {
	job := func(bytes int64) *scripts.State {
		return &scripts.State{Tasks: map[string]scripts.TaskState{"a": {Bytes: bytes / 2}, "b": {Bytes: bytes / 2}}}
	}
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	ofRows := func(rows int64) *scripts.State {
		return &scripts.State{Tasks: map[string]scripts.TaskState{"a": {Rows: rows - 1}, "b": {Rows: 1}}}
	}
	before := percent()
	expect := func(want int) {
		t.Helper()
		if got := percent(); got != want {
			t.Errorf("the pace is %d, want %d", got, want)
		}
	}
	t.Setenv("GOGC", "")
	pace(job(largeJob - 2))()
	end := pace(job(largeJob - 2))
	expect(before)
	first, second := pace(job(largeJob)), pace(job(2*largeJob))
	end()
	expect(largePace)
	first()
	expect(largePace)
	second()
	expect(before)
	compressed := pace(ofRows(largeRows))
	expect(largePace)
	compressed()
	compressed = pace(ofRows(largeRows - 1))
	expect(before)
	compressed()
	t.Setenv("GOGC", "80")
	defer pace(job(largeJob))()
	expect(before)
}
