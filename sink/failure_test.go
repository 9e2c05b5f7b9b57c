package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFailed: what is an outage, what is refused, and what helps.
func TestFailed(t *testing.T) {
	t.Parallel()
	d, err := NewDir("/var/files")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		number  error
		refused bool
		want    string
	}{
		{syscall.ENOSPC, false, "sink: write r/1.csv: no space left on device: free space on /var/files"},
		{syscall.EDQUOT, false, "sink: write r/1.csv: disk quota exceeded: free space on /var/files, or raise the quota"},
		{syscall.EROFS, false, "sink: write r/1.csv: read-only file system: remount /var/files so that it can be written"},
		{syscall.EACCES, true, "sink: write r/1.csv: open /x: permission denied: let the user of this process write below /var/files"},
		{syscall.ENOTDIR, true, "sink: write r/1.csv: open /x: not a directory: there is a file below /var/files where a folder should be: move it away"},
		{syscall.EIO, false, "sink: write r/1.csv: open /x: input/output error"},
	} {
		err := d.failed("write r/1.csv", &fs.PathError{Op: "open", Path: "/x", Err: c.number})
		if err.Error() != c.want || errors.Is(err, ErrRefused) != c.refused || !errors.Is(err, c.number) {
			t.Errorf("refused %v: %s, want %s", errors.Is(err, ErrRefused), err, c.want)
		}
	}
}

// TestWatched: the last write tells the state, and where there is none any more, a look.
func TestWatched(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "mount")
	d, err := NewDir(root)
	if err != nil {
		t.Fatal(err)
	}
	w := Watch(d)
	if err := w.State(t.Context()); err != nil {
		t.Errorf("before the first write: %v", err)
	}
	if _, err := w.Create(t.Context(), Object{Name: "r/1.csv"}); err == nil {
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
