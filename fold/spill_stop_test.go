package fold

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// keysIn returns integers that are divided into that part.
func keysIn(part uint64, count int) []int {
	var keys []int
	for i := 0; len(keys) < count; i++ {
		if (joinKey{word: uint64(i)}).hashAt(0)%ways == part {
			keys = append(keys, i)
		}
	}
	return keys
}

// TestSpillStopsAtTheFirstError: after one part has failed no other is begun.
func TestSpillStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	var keys []int
	for part := range uint64(ways) {
		keys = append(keys, keysIn(part, 10)...)
	}
	r, sets := wide(t, report.Inner, keys, keys, 100)
	var reads atomic.Int64
	files := &scratchFiles{t: t, dir: t.TempDir(), read: func([]byte) error {
		reads.Add(1)
		return errDisk
	}}
	_, err := Fold(r, sets(), io.Discard, Room{Bytes: 10_000, Scratch: files.make})
	if !errors.Is(err, errDisk) || reads.Load() > 2 {
		t.Errorf("%d reads failed, error %v", reads.Load(), err)
	}
	files.closed(2)
}

// TestSpillStopsInAPart: a part that makes many lines ends when another one fails.
func TestSpillStopsInAPart(t *testing.T) {
	t.Parallel()
	const rows = 300 // of one key in both datasets, so that there are as many lines as its square
	same := slices.Repeat(keysIn(1, 1), rows)
	broken := slices.Concat(keysIn(0, 2000), keysIn(2, 2000), keysIn(3, 2000))
	r, sets := wide(t, report.Left, same, append(broken, same...), 100)
	failed := make(chan struct{})
	var once sync.Once
	var joining atomic.Bool
	var lines atomic.Int64
	files := &scratchFiles{t: t, dir: t.TempDir(),
		read: func(p []byte) error {
			joining.Store(true)
			if len(p) < blockBytes/2 {
				return nil
			}
			once.Do(func() { close(failed) })
			return errDisk
		},
		written: func(p []byte) {
			if joining.Load() {
				<-failed
				lines.Add(int64(len(p)))
			}
		},
	}
	_, err := Fold(r, sets(), io.Discard, Room{Bytes: 800_000, Scratch: files.make})
	if all := int64(rows * rows * 200); !errors.Is(err, errDisk) || lines.Load() > all/2 {
		t.Errorf("%d of more than %d bytes of lines were written, error %v", lines.Load(), all, err)
	}
	files.closed(2)
}

// TestSpillReadFails: no read that fails goes unnoticed.
func TestSpillReadFails(t *testing.T) {
	t.Parallel()
	keys := make([]int, 3000)
	for i := range keys {
		keys[i] = max(0, i-1000) // one of them is too large to be held
	}
	r, sets := wide(t, report.Full, keys[990:1200], keys, 500)
	var now, fails atomic.Int64
	files := &scratchFiles{t: t, dir: t.TempDir(), read: func([]byte) error {
		if now.Add(1) == fails.Load() {
			return errDisk
		}
		return nil
	}}
	room := Room{Bytes: 400_000, Scratch: files.make}
	if _, err := Fold(r, sets(), io.Discard, room); err != nil {
		t.Fatal(err)
	}
	for n, all := int64(1), now.Load(); n <= all; n += max(1, all/50) {
		now.Store(0)
		fails.Store(n)
		if _, err := Fold(r, sets(), io.Discard, room); !errors.Is(err, errDisk) {
			t.Errorf("read %d of %d: %v", n, all, err)
		}
	}
	files.closed(files.made)
}
