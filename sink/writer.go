package sink

import (
	"context"
	"errors"
	"hash/crc32"
)

// Upload is an object on its way into a sink. NewWriter makes a Writer of it, which knows the
// rules that are the same for every sink.
type Upload interface {
	// Send takes the next bytes.
	Send(p []byte) error
	// Publish makes the object visible, if none of its name exists. If one does and has so
	// many bytes with this checksum, and the same metadata, that one is adopted; otherwise
	// the error is ErrConflict.
	Publish(size int64, crc32c uint32) (adopted bool, err error)
	// End gives up what is not published. It is called once, as the last method.
	End()
	// Failed is the error of a write or commit for people.
	Failed(what string, err error) error
}

// Castagnoli is the table of the checksums.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errEnded is the answer of a Writer after Commit or Abort.
var errEnded = errors.New("the writer has ended")

type writer struct {
	ctx    context.Context
	upload Upload
	size   int64
	crc32c uint32
	err    error // of the first call that failed, or errEnded
}

// NewWriter returns the Writer of an upload, which ctx bounds.
func NewWriter(ctx context.Context, u Upload) Writer { return &writer{ctx: ctx, upload: u} }

func (w *writer) Write(p []byte) (int, error) {
	if err := w.alive(); err != nil {
		return 0, err
	}
	if err := w.upload.Send(p); err != nil {
		w.err = w.failed("write", err)
		return 0, w.err
	}
	w.size += int64(len(p))
	w.crc32c = crc32.Update(w.crc32c, Castagnoli, p)
	return len(p), nil
}

func (w *writer) Commit() (Committed, error) {
	defer w.Abort()
	if err := w.alive(); err != nil {
		return Committed{}, err
	}
	adopted, err := w.upload.Publish(w.size, w.crc32c)
	if errors.Is(err, ErrConflict) {
		return Committed{}, err
	} else if err != nil {
		return Committed{}, w.failed("commit", err)
	}
	return Committed{Adopted: adopted, Bytes: w.size, CRC32C: w.crc32c}, nil
}

func (w *writer) Abort() {
	if w.err != errEnded {
		w.err = errEnded
		w.upload.End()
	}
}

func (w *writer) alive() error {
	if w.err == nil && w.ctx.Err() != nil {
		w.err = w.failed("write", nil)
	}
	return w.err
}

// failed prefers the end of ctx to the error that it caused.
func (w *writer) failed(what string, err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		err = cause
	}
	return w.upload.Failed(what, err)
}
