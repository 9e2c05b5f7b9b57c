package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/storage"

	"github.com/fanfold/fanfold/sink"
)

// Open begins a download. The client compares the checksum at its end. A call that takes
// longer than stallTimeout fails.
func (s *Sink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := errors.Join(sink.CheckName(name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	t := sink.NewTransfer(ctx, s.stall)
	failed := func(err error) error {
		if errors.Is(err, storage.ErrObjectNotExist) {
			return fmt.Errorf("%w: %s", sink.ErrNoObject, s.URL(name))
		}
		return fmt.Errorf("read %s: %w", s.URL(name), t.Because(refused(err)))
	}
	defer t.Guard()()
	in, err := s.object(name).ReadCompressed(true).NewReader(t.Within)
	if err != nil {
		err = failed(err)
		t.Cancel(err)
		return nil, err
	}
	return &sink.Download{Transfer: t, In: in, Failed: failed}, nil
}
