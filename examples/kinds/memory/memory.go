// Package memory is a sink in the memory of the process: memory://NAME. Files are lost when the process
// ends.
package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// Kind is the sink: sink: memory://NAME.
var Kind = sink.Kind{
	SinkKind: report.SinkKind{Scheme: "memory", Form: "memory://name", Parse: parse},
	Open:     func(_ context.Context, s report.Sink) (sink.Sink, error) { return Open(s.URL), nil },
}

var form = regexp.MustCompile(`^(memory://[a-z0-9-]+)/*$`)

func parse(text string) (report.SinkURL, string) {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return "", "not memory:// and a name of a-z, 0-9 and -"
	}
	return report.SinkURL(m[1]), ""
}

// places are the sinks of the process: a sink that is opened again has the same objects.
var places sync.Map

// Open returns the sink of a URL.
func Open(url report.SinkURL) *Sink {
	s, _ := places.LoadOrStore(url, &Sink{root: string(url) + "/", objects: map[string]object{}})
	return s.(*Sink)
}

// Sink implements sink.Sink.
type Sink struct {
	root    string
	mu      sync.Mutex
	objects map[string]object
}

var _ sink.Sink = (*Sink)(nil)

type object struct {
	data     []byte
	crc32c   uint32
	metadata map[string]string
	modified time.Time
}

// Create implements sink.Sink.
func (s *Sink) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if err := sink.CheckName(o.Name); err != nil {
		return nil, err
	}
	return sink.NewWriter(ctx, &upload{sink: s, of: o}), ctx.Err()
}

// upload implements sink.Upload.
type upload struct {
	sink *Sink
	of   sink.Object
	data []byte
}

func (u *upload) Send(p []byte) error {
	u.data = append(u.data, p...)
	return nil
}

func (u *upload) Publish(_ int64, crc32c uint32) (adopted bool, err error) {
	u.sink.mu.Lock()
	defer u.sink.mu.Unlock()
	o, exists := u.sink.objects[u.of.Name]
	switch {
	case !exists:
		u.sink.objects[u.of.Name] = object{u.data, crc32c, u.of.Metadata, time.Now()}
		return false, nil
	case len(o.data) == len(u.data) && o.crc32c == crc32c && maps.Equal(o.metadata, u.of.Metadata):
		return true, nil
	}
	return false, sink.Taken(u.of.Name, "another object")
}

func (u *upload) End() { u.data = nil }

func (u *upload) Failed(what string, err error) error {
	return fmt.Errorf("memory: %s %s: %w", what, u.of.Name, err)
}

// Remove implements sink.Sink.
func (s *Sink) Remove(_ context.Context, name string) error {
	if err := sink.CheckName(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
	return nil
}

// Open implements sink.Sink.
func (s *Sink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, exists := s.objects[name]
	if err := errors.Join(sink.CheckName(name), ctx.Err()); err != nil {
		return nil, err
	} else if !exists {
		return nil, fmt.Errorf("%w: %s", sink.ErrNoObject, name)
	}
	return io.NopCloser(&reader{ctx, bytes.NewReader(o.data)}), nil
}

// reader stops when its context ends.
type reader struct {
	ctx context.Context
	of  io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.of.Read(p)
}

// List implements sink.Sink.
func (s *Sink) List(ctx context.Context, prefix string) iter.Seq2[sink.Listed, error] {
	s.mu.Lock()
	objects := maps.Clone(s.objects)
	s.mu.Unlock()
	return func(yield func(sink.Listed, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(sink.Listed{}, err)
			return
		}
		for name, o := range objects {
			if strings.HasPrefix(name, prefix) && !yield(sink.Listed{Name: name, Object: name, Modified: o.modified}, nil) {
				return
			}
		}
	}
}

// URL implements sink.Sink.
func (s *Sink) URL(name string) string { return s.root + name }

// Name implements sink.Sink.
func (s *Sink) Name(url string) (string, bool) {
	name, ok := strings.CutPrefix(url, s.root)
	return name, ok && sink.CheckName(name) == nil
}

// Check implements sink.Sink.
func (s *Sink) Check(ctx context.Context) error { return ctx.Err() }

// Close implements sink.Sink.
func (s *Sink) Close() error { return nil }
