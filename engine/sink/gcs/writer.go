package gcs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/fanfold/fanfold/engine/sink"
)

const (
	// chunkSize is what the client keeps of an upload to be able to repeat a
	// request: one buffer of this size for each upload, where its default takes
	// 16 MiB. A chunk costs a round trip, so smaller ones would be slower.
	chunkSize = 4 << 20
	// chunkRetry is how long one chunk is tried; chunkStall how long one try may
	// take: 4 MiB in a minute are 70 kB/s.
	chunkRetry = 90 * time.Second
	chunkStall = time.Minute
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errEnded   = errors.New("sink: the writer has ended")
	errStalled = errors.New("no progress")
	errDamaged = errors.New("the service stored other bytes than were sent")
)

// writer is an upload that is not finished.
type writer struct {
	ctx      context.Context // the caller's
	cancel   context.CancelCauseFunc
	upload   context.Context // ends with ctx, by cancel, or when a call stalls
	object   *storage.ObjectHandle
	url      string
	out      *storage.Writer
	metadata map[string]string
	stall    time.Duration
	size     int64
	crc32c   uint32
	taken    error // the service said that the name is taken; from then on bytes are only counted
	err      error // of the first call that failed, or errEnded
}

// Create prepares an upload; the first request is made by Write.
func (s *Sink) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if err := errors.Join(sink.CheckName(o.Name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	w := &writer{
		ctx: ctx, object: s.object(o.Name), url: s.URL(o.Name),
		metadata: maps.Clone(o.Metadata), stall: s.stall,
	}
	w.upload, w.cancel = context.WithCancelCause(ctx)
	w.out = w.object.If(storage.Conditions{DoesNotExist: true}).NewWriter(w.upload)
	w.out.ContentType = o.ContentType
	w.out.Metadata = w.metadata
	w.out.ChunkSize = chunkSize
	w.out.ChunkRetryDeadline = chunkRetry
	w.out.ChunkTransferTimeout = chunkStall
	return w, nil
}

// Write hands the bytes to the upload, and waits where a chunk is full and the
// one before it is still on its way.
func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if err := w.send(p); err != nil {
		w.err = fmt.Errorf("sink: write %s: %w", w.url, w.because(err))
		w.cancel(w.err)
		return 0, w.err
	}
	w.size += int64(len(p))
	w.crc32c = crc32.Update(w.crc32c, castagnoli, p)
	return len(p), nil
}

// send uploads the bytes. That the name is taken is no error yet: the service
// says so as early as at the first chunk, but whether the object there is the
// same can be known only when all bytes were seen.
func (w *writer) send(p []byte) error {
	if w.taken != nil {
		return context.Cause(w.ctx)
	}
	defer w.guard()()
	_, err := w.out.Write(p)
	if taken(err) {
		w.taken = err
		return nil
	}
	return err
}

// taken tells whether the precondition failed.
func taken(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && answer.Code == http.StatusPreconditionFailed
}

// guard ends the upload if the call that it guards takes too long.
func (w *writer) guard() (done func()) {
	timer := time.AfterFunc(w.stall, func() { w.cancel(errStalled) })
	return func() { timer.Stop() }
}

// refused marks an answer of the service that stays the same until somebody
// changes the bucket or the grants.
func refused(err error) error {
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.Code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return sink.Refused(err)
	}
	return err
}

// because adds why the upload was ended to the error that this caused.
func (w *writer) because(err error) error {
	err = refused(err)
	if cause := context.Cause(w.upload); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// Abort ends the upload. It must not close it: that would publish what was
// written so far.
func (w *writer) Abort() {
	w.err = errEnded
	w.cancel(errEnded)
}

// Commit finishes the upload. It takes up to 2 minutes, and half a minute more
// where it has to look what became of it.
func (w *writer) Commit() (sink.Committed, error) {
	if w.err != nil {
		err := w.err
		w.Abort()
		return sink.Committed{}, err
	}
	defer w.Abort()
	adopted, err := w.publish()
	if errors.Is(err, sink.ErrConflict) {
		return sink.Committed{}, err
	} else if err != nil {
		return sink.Committed{}, fmt.Errorf("sink: commit %s: %w", w.url, err)
	}
	return sink.Committed{Adopted: adopted, Bytes: w.size, CRC32C: w.crc32c}, nil
}

func (w *writer) publish() (adopted bool, err error) {
	if err := w.close(); err != nil {
		return true, w.adopt(w.because(err))
	}
	stored := w.out.Attrs()
	if stored.Size == w.size && stored.CRC32C == w.crc32c {
		return false, nil
	}
	// Only this generation: it is the one that is known to be damaged.
	return false, errors.Join(errDamaged, remove(w.ctx, w.object.Generation(stored.Generation)))
}

func (w *writer) close() error {
	if w.taken != nil {
		return w.taken
	}
	if err := w.upload.Err(); err != nil {
		return err
	}
	defer w.guard()()
	return w.out.Close()
}

// adopt looks what is there after the upload failed, and returns nil where it
// has our bytes and metadata, and failed where nothing is there or nobody knows.
func (w *writer) adopt(failed error) error {
	if w.ctx.Err() != nil {
		return failed
	}
	there, err := look(w.ctx, w.object)
	switch {
	case errors.Is(err, storage.ErrObjectNotExist):
		return failed
	case err != nil:
		return fmt.Errorf("%w; and to look at it: %w", failed, err)
	case there.Size != w.size, there.CRC32C != w.crc32c:
		return sink.Taken(w.url, fmt.Sprintf("an object of %d bytes with other contents", there.Size))
	case !maps.Equal(there.Metadata, w.metadata):
		return sink.Taken(w.url, fmt.Sprintf("an object with other metadata (%s)", said(there.Metadata)))
	}
	return nil
}

// said is what an object's metadata say of whose it is.
func said(metadata map[string]string) string {
	if metadata["fanfold-record"] == "" {
		return "Fanfold has not made it"
	}
	return fmt.Sprintf("record %s, attempt %s, installation %s", metadata["fanfold-record"], metadata["fanfold-attempt"], cmp.Or(metadata["fanfold-installation"], "unknown"))
}
