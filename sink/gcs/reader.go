package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/storage"

	"github.com/fanfold/fanfold/sink"
)

// transfer is an upload or a download that is not finished.
type transfer struct {
	within context.Context // ends with the caller's, by cancel, or when a call stalls
	cancel context.CancelCauseFunc
	stall  time.Duration
}

func (s *Sink) transfer(ctx context.Context) transfer {
	t := transfer{stall: s.stall}
	t.within, t.cancel = context.WithCancelCause(ctx)
	return t
}

// guard ends the transfer if the call that it guards takes too long.
func (t transfer) guard() (done func()) {
	timer := time.AfterFunc(t.stall, func() { t.cancel(errStalled) })
	return func() { timer.Stop() }
}

// because adds why the transfer was ended to the error that this caused.
func (t transfer) because(err error) error {
	err = refused(err)
	if cause := context.Cause(t.within); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// download is an object that is being read.
type download struct {
	transfer
	in  *storage.Reader
	url string
}

// Open begins a download. The client compares the checksum at its end. A call that takes
// longer than stallTimeout fails.
func (s *Sink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := errors.Join(sink.CheckName(name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	d := &download{transfer: s.transfer(ctx), url: s.URL(name)}
	defer d.guard()()
	var err error
	if d.in, err = s.object(name).ReadCompressed(true).NewReader(d.within); err != nil {
		err = d.failed(err)
		d.cancel(err)
		return nil, err
	}
	return d, nil
}

// failed names the object.
func (d *download) failed(err error) error {
	if errors.Is(err, storage.ErrObjectNotExist) {
		return fmt.Errorf("%w: %s", sink.ErrNoObject, d.url)
	}
	return fmt.Errorf("read %s: %w", d.url, d.because(err))
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	if err := context.Cause(d.within); err != nil {
		return 0, d.failed(err)
	}
	defer d.guard()()
	n, err := d.in.Read(p)
	if err != nil && err != io.EOF {
		err = d.failed(err)
	}
	return n, err
}

// Close implements io.Closer.
func (d *download) Close() error {
	defer d.cancel(errEnded)
	return d.in.Close()
}
