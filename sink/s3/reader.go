package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/fanfold/fanfold/sink"
)

// download is an object that is being read.
type download struct {
	sink.Transfer
	in  io.ReadCloser
	url string
}

// Open begins a download. If the store has a checksum of the object, the client compares it at the end. A
// call that takes longer than stallTimeout fails.
func (s *Sink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := errors.Join(sink.CheckName(name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	d := &download{Transfer: sink.NewTransfer(ctx, s.stall), url: s.URL(name)}
	defer d.Guard()()
	var err error
	d.in, _, _, err = s.core.GetObject(d.Within, s.bucket, s.prefix+name, minio.GetObjectOptions{Checksum: true})
	if err != nil {
		err = d.failed(err)
		d.Cancel(err)
		return nil, err
	}
	return d, nil
}

// failed names the object.
func (d *download) failed(err error) error {
	if code(err) == minio.NoSuchKey {
		return fmt.Errorf("%w: %s", sink.ErrNoObject, d.url)
	}
	return fmt.Errorf("read %s: %w", d.url, d.Because(refused(err)))
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	if err := context.Cause(d.Within); err != nil {
		return 0, d.failed(err)
	}
	defer d.Guard()()
	n, err := d.in.Read(p)
	if err != nil && err != io.EOF {
		err = d.failed(err)
	}
	return n, err
}

// Close implements io.Closer.
func (d *download) Close() error {
	defer d.Cancel(errEnded)
	return d.in.Close()
}
