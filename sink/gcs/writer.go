package gcs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/fanfold/fanfold/sink"
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
	errEnded   = errors.New("the writer has ended")
	errDamaged = errors.New("the service stored other bytes than were sent")
)

// upload is an upload that is not finished.
type upload struct {
	sink.Transfer
	ctx      context.Context // the caller's
	object   *storage.ObjectHandle
	url      string
	out      *storage.Writer
	metadata map[string]string
	taken    error // the service said that the name is taken; from then on bytes are only counted
}

// Create prepares an upload; the first request is made by Write.
func (s *Sink) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if err := errors.Join(sink.CheckName(o.Name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	u := &upload{
		ctx: ctx, object: s.object(o.Name), url: s.URL(o.Name),
		metadata: maps.Clone(o.Metadata), Transfer: sink.NewTransfer(ctx, s.stall),
	}
	u.out = u.object.If(storage.Conditions{DoesNotExist: true}).NewWriter(u.Within)
	u.out.ContentType = o.ContentType
	u.out.ContentDisposition = sink.Attachment(o.SaveAs)
	u.out.Metadata = u.metadata
	u.out.ChunkSize = chunkSize
	u.out.ChunkRetryDeadline = chunkRetry
	u.out.ChunkTransferTimeout = chunkStall
	return sink.NewWriter(ctx, u), nil
}

// Send hands the bytes to the upload, and waits where a chunk is full and the
// one before it is still on its way. That the name is taken is no error yet: the service
// says so as early as at the first chunk, but whether the object there is the
// same can be known only when all bytes were seen.
func (u *upload) Send(p []byte) error {
	if u.taken != nil {
		return context.Cause(u.ctx)
	}
	defer u.Guard()()
	_, err := u.out.Write(p)
	if taken(err) {
		u.taken = err
		return nil
	}
	if err != nil {
		err = u.Because(refused(err))
		u.Cancel(err)
	}
	return err
}

// taken tells whether the precondition failed.
func taken(err error) bool {
	answer, ok := errors.AsType[*googleapi.Error](err)
	return ok && answer.Code == http.StatusPreconditionFailed
}

// refused marks an answer of the service that stays the same until the bucket or the grants change.
func refused(err error) error {
	final := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}
	if answer, ok := errors.AsType[*googleapi.Error](err); ok && slices.Contains(final, answer.Code) {
		return sink.Refused(err)
	}
	return err
}

// End ends the upload. It must not close it: that would publish what was
// written so far.
func (u *upload) End() { u.Cancel(errEnded) }

// Failed names the object.
func (u *upload) Failed(what string, err error) error {
	return fmt.Errorf("%s %s: %w", what, u.url, err)
}

// Publish finishes the upload. It takes up to 2 minutes, and half a minute more if it must find out
// the outcome.
func (u *upload) Publish(size int64, crc32c uint32) (adopted bool, err error) {
	if err := u.close(); err != nil {
		return true, u.adopt(u.Because(refused(err)), size, crc32c)
	}
	stored := u.out.Attrs()
	if stored.Size == size && stored.CRC32C == crc32c {
		return false, nil
	}
	// Only this generation: it is the one that is known to be damaged.
	return false, errors.Join(errDamaged, remove(u.ctx, u.object.Generation(stored.Generation)))
}

func (u *upload) close() error {
	if u.taken != nil {
		return u.taken
	}
	if err := u.Within.Err(); err != nil {
		return err
	}
	defer u.Guard()()
	return u.out.Close()
}

// adopt checks what exists after the upload failed. It returns nil if the object has our bytes and
// metadata, and failed if nothing exists or the outcome is unknown.
func (u *upload) adopt(failed error, size int64, crc32c uint32) error {
	if u.ctx.Err() != nil {
		return failed
	}
	there, err := look(u.ctx, u.object)
	switch {
	case errors.Is(err, storage.ErrObjectNotExist):
		return failed
	case err != nil:
		return fmt.Errorf("%w; and to look at it: %w", failed, err)
	case there.Size != size, there.CRC32C != crc32c:
		return sink.Taken(u.url, fmt.Sprintf("an object of %d bytes with other contents", there.Size))
	case !maps.Equal(there.Metadata, u.metadata):
		return sink.Taken(u.url, fmt.Sprintf("an object with other metadata (%s)", sink.Owner(there.Metadata)))
	}
	return nil
}
