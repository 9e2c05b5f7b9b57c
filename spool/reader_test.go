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
