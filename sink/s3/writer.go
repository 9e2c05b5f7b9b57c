package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/fanfold/fanfold/sink"
)

const (
	// maxParts is the limit of the API. All parts but the last have the same size, which some stores demand.
	maxParts = 10_000
	// firstBuffer is the size of the buffer of a small file, which grows to that of a part.
	firstBuffer = 64 << 10
	// abortTimeout bounds the abort of an upload that failed. List finds what it leaves.
	abortTimeout = 10 * time.Second
	// firstPause and longestPause lie between looks at a name that another writer is taking.
	firstPause   = 250 * time.Millisecond
	longestPause = 2 * time.Second
)

// sums is the checksum of objects: of all that a store can keep for an object in parts, it is what most
// have.
const sums = minio.ChecksumCRC64NVME

var errEnded = errors.New("the writer has ended")

// upload is an upload that is not finished.
type upload struct {
	sink.Transfer
	ctx       context.Context // the caller's
	sink      *Sink
	of        sink.Object
	sum       hash.Hash // of all bytes
	part      []byte    // of the object, or of its last part
	id        string    // of the multipart upload; empty: none has begun
	parts     []minio.CompletePart
	committed bool
}

// Create prepares an upload; its first request is made by Write or Commit. A store of which Check found that it
// ignores the condition is refused. Create checks a store for which no Check has found out, because it could not be
// reached at the start: several at once may do so.
func (s *Sink) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if err := errors.Join(sink.CheckName(o.Name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	switch request := s.ignores.Load(); {
	case request == nil:
		if err := s.Check(ctx); err != nil {
			return nil, err
		}
	case *request != "":
		return nil, ignored(*request)
	}
	return sink.NewWriter(ctx, s.upload(ctx, o)), nil
}

func (s *Sink) upload(ctx context.Context, o sink.Object) *upload {
	o.Metadata = maps.Clone(o.Metadata)
	return &upload{Transfer: sink.NewTransfer(ctx, s.stall), ctx: ctx, sink: s, of: o, sum: sums.Hasher()}
}

// Send keeps the bytes, and sends a part when more come than it takes. Publish sends the last one: so no file
// is found too large there.
func (u *upload) Send(p []byte) error {
	u.sum.Write(p)
	for len(p) > 0 {
		if len(u.part) == u.sink.part {
			if err := u.sendMore(); err != nil {
				err = u.Because(refused(err))
				u.Cancel(err)
				return err
			}
		}
		n := min(len(p), u.sink.part-len(u.part))
		u.grow(len(u.part) + n)
		u.part, p = append(u.part, p[:n]...), p[n:]
	}
	return nil
}

// grow doubles the buffer, up to the size of a part.
func (u *upload) grow(need int) {
	if need > cap(u.part) {
		bigger := make([]byte, len(u.part), min(max(2*cap(u.part), need, firstBuffer), u.sink.part))
		copy(bigger, u.part)
		u.part = bigger
	}
}

// sendMore sends the part if another can follow it.
func (u *upload) sendMore() error {
	if most := u.sink.maxParts; len(u.parts)+1 == most {
		return sink.Failure(fmt.Sprintf("the file is larger than %d bytes, %d parts of part_size: raise the sink's "+
			"part_size, or lower file.max_bytes", int64(most)*int64(u.sink.part), most), sink.ErrTooLarge)
	}
	return u.sendPart()
}

// sendPart sends the part. The first one begins the multipart upload.
func (u *upload) sendPart() error {
	if err := u.begin(); err != nil {
		return err
	}
	body, done := u.GuardBody(bytes.NewReader(u.part))
	defer done()
	sum := sums.Hasher()
	sum.Write(u.part)
	checksum := base64.StdEncoding.EncodeToString(sum.Sum(nil))
	number := len(u.parts) + 1
	sent, err := u.sink.core.PutObjectPart(u.Within, u.sink.bucket, u.key(), u.id, number, body,
		int64(len(u.part)), minio.PutObjectPartOptions{
			Sha256Hex: digest(u.part), DisableContentSha256: true, CustomHeader: http.Header{sums.Key(): {checksum}},
		})
	if err != nil {
		return err
	}
	u.parts = append(u.parts, minio.CompletePart{PartNumber: number, ETag: sent.ETag, ChecksumCRC64NVME: checksum})
	u.part = u.part[:0]
	return nil
}

// begin begins the multipart upload, once.
func (u *upload) begin() (err error) {
	if u.id != "" {
		return nil
	}
	defer u.Guard()()
	u.id, err = u.sink.core.NewMultipartUpload(u.Within, u.sink.bucket, u.key(),
		u.options("x-amz-checksum-algorithm", sums.String(), "x-amz-checksum-type", "FULL_OBJECT"))
	return err
}

// options describe the object, with further headers.
func (u *upload) options(headers ...string) minio.PutObjectOptions {
	o := minio.PutObjectOptions{
		ContentType: u.of.ContentType, ContentDisposition: sink.Attachment(u.of.SaveAs),
		UserMetadata: map[string]string{}, DisableContentSha256: true,
	}
	maps.Copy(o.UserMetadata, u.of.Metadata)
	for i := 0; i < len(headers); i += 2 {
		o.UserMetadata[headers[i]] = headers[i+1]
	}
	return o
}

func (u *upload) key() string { return u.sink.prefix + u.of.Name }

// digest is the SHA-256 of a body, which the signature of its request covers. The client's own, which
// DisableContentSha256 turns off, would sign a body in chunks that not all stores know.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// checksum is that of the whole object.
func (u *upload) checksum() string { return base64.StdEncoding.EncodeToString(u.sum.Sum(nil)) }

// End aborts the upload at the store. The caller's ctx may have ended.
func (u *upload) End() {
	u.Cancel(errEnded)
	u.part = nil
	if u.id == "" || u.committed {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), abortTimeout)
	defer cancel()
	_ = u.sink.abort(ctx, u.of.Name, u.id)
}

// Failed names the object.
func (u *upload) Failed(what string, err error) error {
	return fmt.Errorf("%s %s: %w", what, u.sink.URL(u.of.Name), err)
}

// Publish finishes the upload. After the last byte is sent it takes up to 4 minutes, and half a minute more if it
// must find out the outcome; longer only if it must read what exists.
func (u *upload) Publish(size int64, _ uint32) (adopted bool, err error) {
	if err = u.Within.Err(); err == nil {
		err = u.commit()
	}
	if u.committed = err == nil; u.committed {
		return false, nil
	}
	return true, u.adopt(u.Because(refused(err)), size)
}

// commit makes the object visible if none of its name exists.
func (u *upload) commit() error {
	if u.id != "" {
		if err := u.sendPart(); err != nil {
			return err
		}
	}
	body, done := u.GuardBody(bytes.NewReader(u.part)) // in parts it is not sent
	defer done()
	s, options := u.sink, u.options(sums.Key(), u.checksum())
	if u.id != "" {
		// What belongs to the object was said when the upload began.
		options = minio.PutObjectOptions{
			UserMetadata: map[string]string{sums.Key(): u.checksum(), "x-amz-checksum-type": "FULL_OBJECT"},
		}
	}
	options.SetMatchETagExcept("*")
	var err error
	if u.id == "" {
		_, err = s.core.PutObject(u.Within, s.bucket, u.key(), body, int64(len(u.part)), "",
			digest(u.part), options)
	} else {
		_, err = s.core.CompleteMultipartUpload(u.Within, s.bucket, u.key(), u.id, u.parts, options)
	}
	return err
}

// adopt checks what exists after the commit failed. It returns nil if the object has our bytes and
// metadata, and failed if nothing exists or the outcome is unknown. If another writer was in the way, its
// object may appear a moment later.
func (u *upload) adopt(failed error, size int64) error {
	for pause := firstPause; u.ctx.Err() == nil; pause *= 2 {
		there, err := u.sink.look(u.ctx, u.of.Name)
		switch {
		case code(err) == minio.NoSuchKey && taken(failed) && pause <= longestPause:
			wait(u.ctx, pause)
			continue
		case code(err) == minio.NoSuchKey:
			return failed
		case err != nil && sameCause(failed, err):
			return failed
		case err != nil:
			return fmt.Errorf("%w; and to look at it: %w", failed, refused(err))
		}
		return u.compare(there, size)
	}
	return failed
}

func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// compare returns nil if an object is the same as ours.
func (u *upload) compare(there minio.ObjectInfo, size int64) error {
	url := u.sink.URL(u.of.Name)
	metadata := map[string]string{}
	for name, value := range there.UserMetadata {
		metadata[strings.ToLower(name)] = value
	}
	if !maps.Equal(metadata, u.of.Metadata) {
		return sink.Taken(url, fmt.Sprintf("an object with other metadata (%s)", sink.Owner(metadata)))
	}
	checksum := there.ChecksumCRC64NVME
	if checksum == "" && there.Size == size {
		var err error
		if checksum, err = u.sink.read(u.ctx, u.of.Name); err != nil {
			return err
		}
	}
	if there.Size != size || checksum != u.checksum() {
		return sink.Taken(url, fmt.Sprintf("an object of %d bytes with other contents", there.Size))
	}
	return nil
}

// read returns the checksum of an object of which the store has none.
func (s *Sink) read(ctx context.Context, name string) (checksum string, err error) {
	in, err := s.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	sum := sums.Hasher()
	if _, err := io.Copy(sum, in); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(sum.Sum(nil)), nil
}
