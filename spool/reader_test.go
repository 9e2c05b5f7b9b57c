package spool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// TestADownloadThatIsCut says nothing about the segment: it is not lost.
func TestADownloadThatIsCut(t *testing.T) {
	t.Parallel()
	d, err := dir.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := spool.New(spool.Options{Sink: cutting{d}})
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
	_, err = r.Get(t.Context(), []string{"c"}, 0)
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(spool.Damaged)) {
		t.Errorf("%v", err)
	}
}
