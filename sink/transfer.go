package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// errStalled ends a transfer of which a call takes too long.
var errStalled = errors.New("no progress")

// Transfer is an upload or a download over a network that is not finished. It is used by one goroutine.
type Transfer struct {
	Within context.Context // ends with the caller's, by Cancel, or when a call takes too long
	Cancel context.CancelCauseFunc
	stall  time.Duration
}

// NewTransfer returns a transfer of which one call may take so long.
func NewTransfer(ctx context.Context, stall time.Duration) Transfer {
	t := Transfer{stall: stall}
	t.Within, t.Cancel = context.WithCancelCause(ctx)
	return t
}

// Guard ends the transfer if the call that it guards takes too long.
func (t Transfer) Guard() (done func()) {
	timer := time.AfterFunc(t.stall, func() { t.Cancel(errStalled) })
	return func() { timer.Stop() }
}

// GuardBody is Guard of a call that sends a body. Its time begins again whenever some of the body is read, however
// large it is. Any goroutine may read the body.
func (t Transfer) GuardBody(body io.ReadSeeker) (guarded io.ReadSeeker, done func()) {
	g := &guardedBody{ReadSeeker: body, stall: t.stall}
	g.timer = time.AfterFunc(t.stall, func() {
		if !g.done.Load() { // a client may still read when its call has returned
			t.Cancel(errStalled)
		}
	})
	return g, func() {
		g.done.Store(true)
		g.timer.Stop()
	}
}

// guardedBody is a body of which each read is progress.
type guardedBody struct {
	io.ReadSeeker
	stall time.Duration
	timer *time.Timer
	done  atomic.Bool // the call has returned
}

// Read implements io.Reader.
func (g *guardedBody) Read(p []byte) (int, error) {
	n, err := g.ReadSeeker.Read(p)
	if n > 0 && !g.done.Load() {
		g.timer.Reset(g.stall)
	}
	return n, err
}

// Download is an object that is being read over a network. A Read that takes too long fails.
type Download struct {
	Transfer
	In     io.ReadCloser
	Failed func(err error) error // returns the error of the caller, which names the object
}

// Read implements io.Reader.
func (d *Download) Read(p []byte) (int, error) {
	if err := context.Cause(d.Within); err != nil {
		return 0, d.Failed(err)
	}
	defer d.Guard()()
	n, err := d.In.Read(p)
	if err != nil && err != io.EOF {
		err = d.Failed(err)
	}
	return n, err
}

// Close implements io.Closer.
func (d *Download) Close() error {
	defer d.Cancel(errEnded)
	return d.In.Close()
}

// Because adds why the transfer was ended to the error that this caused.
func (t Transfer) Because(err error) error {
	if cause := context.Cause(t.Within); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}
