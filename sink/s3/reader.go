package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/fanfold/fanfold/sink"
)

// Open begins a download. If the store has a checksum of the object, the client compares it at the end. A
// call that takes longer than stallTimeout fails.
func (s *Sink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := errors.Join(sink.CheckName(name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	t := sink.NewTransfer(ctx, s.stall)
	failed := func(err error) error {
		if code(err) == minio.NoSuchKey {
			return fmt.Errorf("%w: %s", sink.ErrNoObject, s.URL(name))
		}
		return fmt.Errorf("read %s: %w", s.URL(name), t.Because(refused(err)))
	}
	defer t.Guard()()
	in, _, _, err := s.core.GetObject(t.Within, s.bucket, s.prefix+name, minio.GetObjectOptions{Checksum: true})
	if err != nil {
		err = failed(err)
		t.Cancel(err)
		return nil, err
	}
	return &sink.Download{Transfer: t, In: in, Failed: failed}, nil
}
