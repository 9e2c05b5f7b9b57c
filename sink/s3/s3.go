package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// The client repeats a request that was not answered, or with an error of the store, up to 10 times, with
// pauses of up to a second. The times below end what would take longer: an outage is for the caller to
// wait out.
const (
	// lookTimeout bounds an operation without data: look, delete.
	lookTimeout = 30 * time.Second
	// stallTimeout bounds one request for a part, with its repetitions, and one call of Open or Read.
	stallTimeout = 2 * time.Minute
)

// defaultPart is the part size of Options without one, as their tag says.
const defaultPart = 8 << 20

// Sink keeps its objects in one bucket, below one prefix. It is safe for concurrent use.
type Sink struct {
	core   *minio.Core
	http   *http.Transport
	bucket string
	root   string // s3://bucket/prefix/
	prefix string // prefix/, or nothing
	part   int    // size of a part in bytes
	stall  time.Duration
	page   int // maximum number of objects in an answer; 0: as many as the store likes
	// whether the store lists uploads by a prefix: MinIO does so only by a whole name, or all
	listsUploads bool
	maxParts     int                    // of an object
	ignores      atomic.Pointer[string] // the request on which Check saw the condition ignored
}

var (
	_ sink.Sink   = (*Sink)(nil)
	_ sink.Signer = (*Sink)(nil)
)

// New returns the sink of a URL. It does no I/O: credentials are looked for at the first request.
func New(at report.SinkURL, o Options) (*Sink, error) {
	return open(at, o, func(t *http.Transport) http.RoundTripper { return t })
}

// open is New with a way to the store that wraps its own.
func open(at report.SinkURL, o Options, wrap func(*http.Transport) http.RoundTripper) (*Sink, error) {
	bucket, prefix, wrong := parse(string(at))
	if wrong != "" {
		return nil, fmt.Errorf("%s: %s", at, wrong)
	}
	endpoint, err := url.Parse(cmp.Or(o.Endpoint, "https://s3.amazonaws.com"))
	if err != nil || strings.Trim(endpoint.Path, "/") != "" {
		return nil, fmt.Errorf("%s: the endpoint is not http:// or https:// and a host", at)
	}
	transport, err := minio.DefaultTransport(endpoint.Scheme == "https")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	core, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds: credentialsOf(o), Secure: endpoint.Scheme == "https", Region: regionOf(o), Transport: wrap(transport),
		BucketLookup: lookups[o.Addressing],
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	s := &Sink{
		core: core, http: transport, bucket: bucket, part: int(cmp.Or(o.PartSize, defaultPart)), stall: stallTimeout,
		listsUploads: o.Endpoint == "", maxParts: maxParts,
	}
	if prefix != "" {
		s.prefix = prefix + "/"
	}
	s.root = "s3://" + bucket + "/" + s.prefix
	return s, nil
}

// URL returns s3://<bucket>/<prefix>/<name>.
func (s *Sink) URL(name string) string { return s.root + name }

// Name is the reverse of URL.
func (s *Sink) Name(url string) (string, bool) {
	name, ok := strings.CutPrefix(url, s.root)
	if !ok || sink.CheckName(name) != nil {
		return "", false
	}
	return name, true
}

// leftover is between the name of an object and the id of an upload, in the name of an upload that List found.
const leftover = "?uploadId="

// Remove aborts the uploads of the object, and deletes it. In a bucket with versions its bytes stay
// for as long as the bucket says.
func (s *Sink) Remove(ctx context.Context, name string) error {
	object, id, _ := strings.Cut(name, leftover)
	if id == "" {
		object = name
	}
	if err := errors.Join(sink.CheckName(object), context.Cause(ctx)); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := s.remove(within, object, id); err != nil {
		return fmt.Errorf("remove %s: %w", s.URL(name), refused(err))
	}
	return nil
}

// remove aborts first: an upload that was committed meanwhile is then deleted.
func (s *Sink) remove(ctx context.Context, object, id string) error {
	if id != "" {
		return s.abort(ctx, object, id)
	}
	var left []string // a store may not find the next page if the last upload of this one has gone
	for u, err := range s.uploads(ctx, s.prefix+object) {
		if err != nil {
			return err
		}
		if u.Key == s.prefix+object {
			left = append(left, u.UploadID)
		}
	}
	for _, id := range left {
		if err := s.abort(ctx, object, id); err != nil {
			return err
		}
	}
	err := s.core.RemoveObject(ctx, s.bucket, s.prefix+object, minio.RemoveObjectOptions{})
	if code(err) == minio.NoSuchKey {
		return nil
	}
	return err
}

// abort ends an upload if it exists.
func (s *Sink) abort(ctx context.Context, object, id string) error {
	err := s.core.AbortMultipartUpload(ctx, s.bucket, s.prefix+object, id)
	if code(err) == minio.NoSuchUpload {
		return nil
	}
	return err
}

// uploads returns the multipart uploads that did not end, of keys that begin with prefix.
func (s *Sink) uploads(ctx context.Context, prefix string) iter.Seq2[minio.ObjectMultipartInfo, error] {
	return func(yield func(minio.ObjectMultipartInfo, error) bool) {
		for key, id := "", ""; ; {
			page, err := s.core.ListMultipartUploads(ctx, s.bucket, prefix, key, id, "", s.page)
			if err != nil {
				yield(minio.ObjectMultipartInfo{}, err)
				return
			}
			for _, u := range page.Uploads {
				if !yield(u, nil) {
					return
				}
			}
			if !page.IsTruncated {
				return
			}
			key, id = page.NextKeyMarker, page.NextUploadIDMarker
		}
	}
}

// List returns the objects, and the multipart uploads that did not end.
func (s *Sink) List(ctx context.Context, prefix string) iter.Seq2[sink.Listed, error] {
	return func(yield func(sink.Listed, error) bool) {
		failed := func(err error) {
			yield(sink.Listed{}, fmt.Errorf("list %s: %w", s.URL(prefix), refused(err)))
		}
		options := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true, MaxKeys: s.page}
		for o := range s.core.ListObjectsIter(ctx, s.bucket, options) {
			if o.Err != nil {
				failed(o.Err)
				return
			}
			name := strings.TrimPrefix(o.Key, s.prefix)
			if sink.CheckName(name) == nil && !yield(sink.Listed{Name: name, Object: name, Modified: o.LastModified}, nil) {
				return
			}
		}
		if err := context.Cause(ctx); err != nil { // then the client's listing ends without an error
			failed(err)
			return
		}
		begin := ""
		if s.listsUploads {
			begin = s.prefix + prefix
		}
		for u, err := range s.uploads(ctx, begin) {
			if err != nil {
				failed(err)
				return
			}
			name, ours := strings.CutPrefix(u.Key, s.prefix)
			left := sink.Listed{Name: name + leftover + u.UploadID, Object: name, Modified: u.Initiated}
			if ours && strings.HasPrefix(name, prefix) && sink.CheckName(name) == nil && !yield(left, nil) {
				return
			}
		}
	}
}

// Close releases the connections.
func (s *Sink) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// look returns the attributes of an object.
func (s *Sink) look(ctx context.Context, name string) (minio.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return s.core.StatObject(ctx, s.bucket, s.prefix+name, minio.StatObjectOptions{Checksum: true})
}
