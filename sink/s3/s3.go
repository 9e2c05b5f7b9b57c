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
	// stallTimeout bounds one call of Open or Read, and how long a request of an upload, with its repetitions,
	// sends nothing of its body.
	stallTimeout = 2 * time.Minute
)

// defaultPart is the part size of Options without one, as their tag says.
const defaultPart = 8 << 20

// Sink keeps its objects in one bucket, below one prefix. It is safe for concurrent use.
type Sink struct {
	store
	http     *http.Transport
	root     string // s3://bucket/prefix/
	keys     keys   // where its credentials come from
	endpoint string // as configured; empty: Amazon S3
	part     int    // size of a part in bytes
	maxParts int    // of an object
	stall    time.Duration
	ignores  atomic.Pointer[string] // the request on which Check saw the condition ignored; empty: none; nil: not known
}

var (
	_ sink.Sink   = (*Sink)(nil)
	_ sink.Signer = (*Sink)(nil)
	_ sink.Hinter = (*Sink)(nil)
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
		store: store{core: core, bucket: bucket, listsUploads: o.Endpoint == ""}, http: transport,
		keys: keysOf(o), endpoint: o.Endpoint,
		part: int(cmp.Or(o.PartSize, defaultPart)), maxParts: maxParts, stall: stallTimeout,
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
			found := sink.Listed{Name: name, Object: name, Modified: o.LastModified}
			if sink.CheckName(name) == nil && !yield(found, nil) {
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
