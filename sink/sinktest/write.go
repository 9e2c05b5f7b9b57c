package sinktest

import (
	"context"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/sink"
)

// visible returns what of the place is no temporary file.
func visible(t *testing.T, p Place) []string {
	return slices.DeleteFunc(p.List(t), func(n string) bool { return n != name })
}

func committed(contents string, adopted bool) sink.Committed {
	return sink.Committed{
		Adopted: adopted, Bytes: int64(len(contents)),
		CRC32C: crc32.Checksum([]byte(contents), crc32.MakeTable(crc32.Castagnoli)),
	}
}

func wantCommitted(t *testing.T, got, want sink.Committed) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Commit (-want +got):\n%s", diff)
	}
}

func appears(t *testing.T, p Place) {
	w := begin(t.Context(), t, p, name, contents)
	if got := visible(t, p); len(got) != 0 {
		t.Fatalf("before Commit the place has %q", got)
	}
	wantCommitted(t, commit(t, w), committed(contents, false))
	wantList(t, p, name)
	wantContents(t, p, name, contents)
	w.Abort()
	wantList(t, p, name)
}

func empty(t *testing.T, p Place) {
	wantCommitted(t, put(t, p, name, ""), committed("", false))
	wantContents(t, p, name, "")
	wantCommitted(t, put(t, p, name, ""), committed("", true))
}

// big returns 20 MB that do not repeat themselves, so that no part of it can
// stand for another. The last chunk of an upload is not full.
var big = sync.OnceValue(func() string {
	data := make([]byte, 20_000_003)
	rand.NewChaCha8([32]byte{}).Read(data)
	return string(data)
})

func large(t *testing.T, p Place) {
	data := big()
	wantCommitted(t, put(t, p, name, data), committed(data, false))
	wantList(t, p, name)
	wantContents(t, p, name, data)
}

func adoptsLarge(t *testing.T, p Place) {
	data := big()
	put(t, p, name, data)
	wantCommitted(t, put(t, p, name, data), committed(data, true))
	// As many bytes, and only the last one is another.
	w := begin(t.Context(), t, p, name, data[:len(data)-1]+string([]byte{data[len(data)-1] ^ 1}))
	if _, err := w.Commit(); !errors.Is(err, sink.ErrConflict) {
		t.Fatalf("Commit = %v, want ErrConflict", err)
	}
	wantList(t, p, name)
}

func abort(t *testing.T, p Place) {
	for _, data := range []string{contents, big()[:9<<20]} {
		w := begin(t.Context(), t, p, name, data)
		w.Abort()
		w.Abort()
		if _, err := w.Commit(); err == nil {
			t.Fatal("Commit after Abort made the object")
		}
		if _, err := w.Write([]byte("x")); err == nil {
			t.Fatal("Write after Abort took the bytes")
		}
		wantList(t, p)
	}
}

func abortUntouched(t *testing.T, p Place) {
	begin(t.Context(), t, p, name, "").Abort()
	wantList(t, p)
}

func ended(t *testing.T, p Place) {
	w := begin(t.Context(), t, p, name, contents)
	commit(t, w)
	if _, err := w.Write([]byte("x")); err == nil {
		t.Fatal("Write after Commit took the bytes")
	}
	if _, err := w.Commit(); err == nil {
		t.Fatal("a second Commit is no error")
	}
	wantContents(t, p, name, contents)
}

func cancelled(t *testing.T, p Place) {
	ctx, cancel := context.WithCancel(t.Context())
	w := begin(ctx, t, p, name, contents)
	cancel()
	if _, err := w.Commit(); !errors.Is(err, context.Canceled) {
		t.Fatalf("Commit = %v, want Canceled", err)
	}
	wantList(t, p)

	ctx, cancel = context.WithCancel(t.Context())
	w = begin(ctx, t, p, name, big()[:9<<20])
	cancel()
	// Bytes may still be taken for a while, but not for ever.
	for range 1000 {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("Write = %v, want Canceled", err)
			}
			break
		}
	}
	if _, err := w.Commit(); !errors.Is(err, context.Canceled) {
		t.Fatalf("Commit = %v, want Canceled", err)
	}
	wantList(t, p)
}

func cancelledBefore(t *testing.T, p Place) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Sink.Create(ctx, object(name)); !errors.Is(err, context.Canceled) {
		t.Fatalf("Create = %v, want Canceled", err)
	}
	wantList(t, p)
}

func adopts(t *testing.T, p Place) {
	put(t, p, name, contents)
	wantCommitted(t, put(t, p, name, contents), committed(contents, true))
	wantList(t, p, name)
	wantContents(t, p, name, contents)
}

func conflicts(t *testing.T, p Place) {
	put(t, p, name, contents)
	for _, other := range []string{"", contents[1:], contents + "\n", "ID,amount\n1,2.50\n"} {
		w := begin(t.Context(), t, p, name, other)
		if _, err := w.Commit(); !errors.Is(err, sink.ErrConflict) {
			t.Fatalf("Commit of %q = %v, want ErrConflict", other, err)
		}
	}
	wantList(t, p, name)
	wantContents(t, p, name, contents)
}

func twoAtOnce(t *testing.T, p Place) { race(t, p, 10, contents) }

func twoAtOnceLarge(t *testing.T, p Place) { race(t, p, 2, big()[:9<<20]) }

// race lets four writers of the same object commit at once.
func race(t *testing.T, p Place, times int, contents string) {
	for range times {
		var results [4]sink.Committed
		var errs [4]error
		var writers [4]sink.Writer
		for i := range writers {
			writers[i] = begin(t.Context(), t, p, name, contents)
		}
		var group sync.WaitGroup
		for i, w := range writers {
			group.Go(func() { results[i], errs[i] = w.Commit() })
		}
		group.Wait()
		created := 0
		for i := range writers {
			if errs[i] != nil {
				t.Fatalf("Commit: %v", errs[i])
			}
			if !results[i].Adopted {
				created++
			}
		}
		if created != 1 {
			t.Fatalf("%d writers created the object, want 1", created)
		}
		wantList(t, p, name)
		wantContents(t, p, name, contents)
		if err := p.Sink.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}
