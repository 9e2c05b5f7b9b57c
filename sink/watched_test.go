package sink_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

// TestWatched: the last write tells the state, and where there is none any more, a look.
func TestWatched(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "mount")
	d, err := dir.New(root)
	if err != nil {
		t.Fatal(err)
	}
	w := sink.Watch(d)
	if err := w.State(t.Context()); err != nil {
		t.Errorf("before the first write: %v", err)
	}
	if _, err := w.Create(t.Context(), sink.Object{Name: "r/1.csv"}); err == nil {
		t.Fatal("there is no folder")
	}
	if err := w.State(t.Context()); err == nil || !strings.Contains(err.Error(), "create r/1.csv") {
		t.Errorf("after a write that failed: %v", err)
	}
	if err := os.Mkdir(root, 0o750); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); w.State(t.Context()) != nil; <-tick.C {
		if time.Since(began) > time.Minute {
			t.Fatal("nobody has looked whether it is over")
		}
	}
	if left, err := filepath.Glob(root + "/[^.]*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
