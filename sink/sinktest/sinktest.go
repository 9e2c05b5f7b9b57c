// Package sinktest holds what every sink must do, as tests to be run over each
// implementation.
package sinktest

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/sink"
)

// Place is a sink with a view behind its back.
type Place struct {
	Sink sink.Sink
	// List returns the names of all that is in the place, in any order, with what
	// is hidden or temporary.
	List func(t *testing.T) []string
	// Read returns the bytes of the object of that name.
	Read func(t *testing.T, name string) []byte
	// Network is the way to the store, on which the suite lets requests fail; nil: the sink needs none.
	Network *Network
	// Page is the number of objects in one answer to a listing; 0: a listing has one answer.
	Page int
	// Stored returns what the store keeps of the object of that name; nil: the sink is no bucket.
	Stored func(t *testing.T, name string) Stored
}

// Run runs the suite for sinks of a kind. open makes a new, empty place; it is called once for each
// test, and what it makes goes when that test ends. Tests run in parallel.
func Run(t *testing.T, kind sink.Kind, open func(t *testing.T) Place) {
	t.Helper()
	t.Run("kind", func(t *testing.T) {
		t.Parallel()
		p := open(t)
		kinds(t, kind, p)
		if p.Stored != nil {
			bucketURLs(t, kind)
		}
	})
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p Place)
	}{
		{"appears with commit only", appears},
		{"empty object", empty},
		{"large object", large},
		{"abort leaves nothing", abort},
		{"abort of an untouched writer", abortUntouched},
		{"ended writer refuses", ended},
		{"cancelled before commit", cancelled},
		{"cancelled before create", cancelledBefore},
		{"same bytes are adopted", adopts},
		{"large object is adopted", adoptsLarge},
		{"other bytes conflict", conflicts},
		{"two writers at once", twoAtOnce},
		{"two writers of a large object at once", twoAtOnceLarge},
		{"killed between writes", killedAtEachWrite},
		{"remove is idempotent", removes},
		{"remove leaves the others", neighbours},
		{"remove ends an interrupted write", removesLeftover},
		{"open", opens},
		{"list", lists},
		{"list of several pages", listsPages},
		{"list of interrupted writes", listsLeftover},
		{"written again after an interrupted write", afterLeftover},
		{"URL and name", urls},
		{"bad names", badNames},
		{"check leaves nothing", check},
		{"check after cancel", checkCancelled},
		{"manifest", manifest},
		{"serves as spool", servesAsSpool},
		{"spool with damaged segments", damagedSpool},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
	for name, run := range map[string]func(t *testing.T, p Place){
		"killed at each request":       killedAtEachRequest,
		"another writer is first":      losesAtEachRequest,
		"the store fails at a request": failsAtEachRequest,
		"the store fails at reads":     failsAtReads,
		"the store is away":            away,
		"the store is slow":            slow,
		"the store refuses a request":  refusedAtEachRequest,
		"bytes change on their way":    damagedRead,
		"metadata":                     keepsMetadata,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if p := open(t); p.Network != nil {
				run(t, p)
			}
		})
	}
}

const (
	name     = "withdrawals/1111-1.csv"
	longer   = "withdrawals/1111-1.csv.gz"
	contents = "id,amount\n1,2.50\n"
)

func object(name string) sink.Object {
	return sink.Object{
		Name: name, ContentType: "text/csv; charset=utf-8",
		Metadata: map[string]string{"fanfold-record": "1111", "fanfold-attempt": "1"},
	}
}

// begin creates a writer and writes to it. The writer is aborted with the test.
func begin(ctx context.Context, t *testing.T, p Place, name, contents string) sink.Writer {
	t.Helper()
	w, err := p.Sink.Create(ctx, object(name))
	if err != nil {
		t.Fatalf("Create(%q): %v", name, err)
	}
	t.Cleanup(w.Abort)
	for chunk := range slices.Chunk([]byte(contents), 64<<10) {
		if n, err := w.Write(chunk); err != nil || n != len(chunk) {
			t.Fatalf("Write of %d bytes = %d, %v", len(chunk), n, err)
		}
	}
	return w
}

func commit(t *testing.T, w sink.Writer) sink.Committed {
	t.Helper()
	c, err := w.Commit()
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return c
}

func put(t *testing.T, p Place, name, contents string) sink.Committed {
	t.Helper()
	return commit(t, begin(t.Context(), t, p, name, contents))
}

func wantList(t *testing.T, p Place, want ...string) {
	t.Helper()
	got := p.List(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("the place has %q, want %q", got, want)
	}
}

func wantContents(t *testing.T, p Place, name, want string) {
	t.Helper()
	got := string(p.Read(t, name))
	if got == want {
		return
	}
	if len(got)+len(want) > 1000 {
		t.Fatalf("%s has %d bytes, not the %d that were written", name, len(got), len(want))
	}
	t.Fatalf("contents of %s (-want +got):\n%s", name, cmp.Diff(want, got))
}
