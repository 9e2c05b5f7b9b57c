package gcs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// The times below end what would otherwise be repeated until ctx ends. An outage
// that lasts longer is for the caller to wait out.
const (
	// lookTimeout bounds an operation without data: look, delete.
	lookTimeout = 30 * time.Second
	// stallTimeout bounds one call of Write, Commit, Open or Read; the slowest has a chunk to
	// send. It is longer than chunkRetry, which does not count for small objects.
	stallTimeout = 2 * time.Minute
	// firstPause and longestPause lie between the tries of one request.
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
)

// Sink keeps its objects in one bucket, below one prefix. It is safe for
// concurrent use.
type Sink struct {
	client *storage.Client
	bucket *storage.BucketHandle
	root   string // gs://bucket/prefix/
	prefix string // prefix/, or nothing
	stall  time.Duration
}

var (
	_ sink.Sink   = (*Sink)(nil)
	_ sink.Signer = (*Sink)(nil)
)

// New returns the sink of a URL. It looks for credentials, but does not touch the bucket: Check
// does. Options are those of storage.NewClient.
func New(ctx context.Context, url report.SinkURL, opts ...option.ClientOption) (*Sink, error) {
	bucket, prefix, wrong := parse(string(url))
	if wrong != "" {
		return nil, fmt.Errorf("%s: %s", url, wrong)
	}
	client, err := storage.NewClient(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to Google Cloud Storage: %w", err)
	}
	// RetryAlways is right, because everything here may be done twice:
	// creating has its precondition, deleting is for good.
	handle := client.Bucket(bucket).Retryer(
		storage.WithPolicy(storage.RetryAlways),
		storage.WithBackoff(gax.Backoff{Initial: firstPause, Max: longestPause, Multiplier: 2}),
	)
	s := &Sink{client: client, bucket: handle, stall: stallTimeout}
	if prefix != "" {
		s.prefix = prefix + "/"
	}
	s.root = "gs://" + bucket + "/" + s.prefix
	return s, nil
}

// URL returns gs://<bucket>/<prefix>/<name>.
func (s *Sink) URL(name string) string { return s.root + name }

// Name is the reverse of URL.
func (s *Sink) Name(url string) (string, bool) {
	name, ok := strings.CutPrefix(url, s.root)
	if !ok || sink.CheckName(name) != nil {
		return "", false
	}
	return name, true
}

// Remove deletes the object. In a bucket with versioning or soft delete its
// bytes stay for as long as the bucket says.
func (s *Sink) Remove(ctx context.Context, name string) error {
	if err := errors.Join(sink.CheckName(name), context.Cause(ctx)); err != nil {
		return err
	}
	if err := remove(ctx, s.object(name)); err != nil {
		return fmt.Errorf("remove %s: %w", s.URL(name), refused(err))
	}
	return nil
}

// List returns only objects: an unfinished upload is invisible, and the service deletes it.
func (s *Sink) List(ctx context.Context, prefix string) iter.Seq2[sink.Listed, error] {
	return func(yield func(sink.Listed, error) bool) {
		query := &storage.Query{Prefix: s.prefix + prefix}
		err := query.SetAttrSelection([]string{"Name", "Updated"})
		for objects := s.bucket.Objects(ctx, query); err == nil; {
			var o *storage.ObjectAttrs
			if o, err = objects.Next(); err != nil {
				break
			}
			name := strings.TrimPrefix(o.Name, s.prefix)
			if sink.CheckName(name) == nil && !yield(sink.Listed{Name: name, Object: name, Modified: o.Updated}, nil) {
				return
			}
		}
		if !errors.Is(err, iterator.Done) {
			yield(sink.Listed{}, fmt.Errorf("list %s: %w", s.URL(prefix), refused(err)))
		}
	}
}

// Check writes, reads and deletes an object with a random name. After an error it may remain.
func (s *Sink) Check(ctx context.Context) error {
	if err := s.check(ctx, sink.NewProbe(sink.ProbePrefix)); err != nil {
		return fmt.Errorf("write, read and delete below %s: %w", s.root, err)
	}
	return nil
}

func (s *Sink) check(ctx context.Context, name string) error {
	w, err := s.Create(ctx, sink.Object{Name: name, ContentType: "text/plain"})
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write([]byte("fanfold\n")); err != nil {
		return err
	}
	_, err = w.Commit()
	if err == nil {
		_, err = look(ctx, s.object(name))
	}
	return errors.Join(err, s.Remove(context.WithoutCancel(ctx), name))
}

// Close releases the connections.
func (s *Sink) Close() error { return s.client.Close() }

func (s *Sink) object(name string) *storage.ObjectHandle {
	return s.bucket.Object(s.prefix + name)
}

// look returns the attributes of an object.
func look(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return o.Attrs(ctx)
}

// remove deletes an object if it exists.
func remove(ctx context.Context, o *storage.ObjectHandle) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := o.Delete(ctx); !errors.Is(err, storage.ErrObjectNotExist) {
		return err
	}
	return nil
}
