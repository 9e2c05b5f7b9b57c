package spool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/spool"
)

// cutting is a sink whose downloads are cut in the middle, as those of a bucket can be.
type cutting struct{ sink.Sink }

type cut struct{ io.ReadCloser }

func (c cutting) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	in, err := c.Sink.Open(ctx, name)
	return cut{in}, err
}

func (c cut) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p[:min(len(p), 7)])
	if err == nil {
		err = fmt.Errorf("read: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}

// written returns a Reader of a dataset of one segment.
func written(t *testing.T, place sink.Sink) *spool.Reader {
	t.Helper()
	s := spool.New(spool.Options{Sink: place})
	w := s.Create(spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "a", Writer: "w"})
	w.Add(1, [][]byte{[]byte("[7]")})
	segment, err := w.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(w.URL()+" "+segment.String(), []string{"c"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// directory returns the sink of a directory.
func directory(t *testing.T, root string) *dir.Sink {
	t.Helper()
	d, err := dir.New(root)
	if err == nil {
		err = d.Make()
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestADownloadThatIsCut says nothing about the segment: it is not lost.
func TestADownloadThatIsCut(t *testing.T) {
	t.Parallel()
	r := written(t, cutting{directory(t, t.TempDir())})
	_, err := r.Get(t.Context(), []string{"c"}, 0)
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(spool.Damaged)) {
		t.Errorf("%v", err)
	}
}

// TestADirectoryThatIsNotMounted: the segment is there again with its directory.
func TestADirectoryThatIsNotMounted(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "spool")
	r := written(t, directory(t, root))
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	_, err := r.Get(t.Context(), []string{"c"}, 0)
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, new(spool.Damaged)) {
		t.Errorf("%v", err)
	}
	if err := os.Rename(root+".away", root); err != nil {
		t.Fatal(err)
	}
	if fields, err := r.Get(t.Context(), []string{"c"}, 0); err != nil || len(fields) != 1 {
		t.Errorf("%q %v", fields, err)
	}
}

// opened is a sink that says which objects are opened.
type opened struct {
	sink.Sink
	names chan string
}

func (o opened) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	o.names <- name
	return o.Sink.Open(ctx, name)
}

// TestTheNextSegmentIsReadAhead, once half of the one before was asked for, and only once.
func TestTheNextSegmentIsReadAhead(t *testing.T) {
	t.Parallel()
	place := opened{directory(t, t.TempDir()), make(chan string, 10)}
	s := spool.New(spool.Options{Sink: place})
	w := s.Create(spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "a", Writer: "w"})
	ticket := w.URL()
	for range 3 {
		for range 4 {
			w.Add(1, [][]byte{[]byte("[7]")})
		}
		segment, err := w.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ticket += " " + segment.String()
	}
	r, err := s.Open(ticket, []string{"c"})
	if err != nil {
		t.Fatal(err)
	}
	get := func(chunk int64, opens ...int) {
		t.Helper()
		if fields, err := r.Get(t.Context(), []string{"c"}, chunk); err != nil || string(fields[0]) == "" {
			t.Fatal(fields, err)
		}
		for _, number := range opens {
			select {
			case name := <-place.names:
				if n, ok := spool.Parse(name); !ok || n.Number != number {
					t.Errorf("after chunk %d, %s was opened", chunk, name)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("after chunk %d, segment %d was not opened", chunk, number)
			}
		}
		if len(place.names) > 0 {
			t.Errorf("after chunk %d, %s was opened, too", chunk, <-place.names)
		}
	}
	get(0, 0)
	get(1)
	get(2, 1)
	get(3)
	get(4)
	get(6, 2)
	get(11)
	get(10)
}
