package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/storage"

	"github.com/fanfold/fanfold/sink"
)

// download is an object that is being read.
type download struct {
	sink.Transfer
	in  *storage.Reader
	url string
}

// Open begins a download. The client compares the checksum at its end. A call that takes
// longer than stallTimeout fails.
func (s *Sink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := errors.Join(sink.CheckName(name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	d := &download{Transfer: sink.NewTransfer(ctx, s.stall), url: s.URL(name)}
	defer d.Guard()()
	var err error
	if d.in, err = s.object(name).ReadCompressed(true).NewReader(d.Within); err != nil {
		err = d.failed(err)
		d.Cancel(err)
		return nil, err
	}
	return d, nil
}

// failed names the object.
func (d *download) failed(err error) error {
	if errors.Is(err, storage.ErrObjectNotExist) {
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
