package sink

import (
	"context"
	"errors"
	"sync"
	"time"
)

// checkAgain is how long the error of a write is assumed to persist before Check tests it.
const checkAgain = 5 * time.Second

// Watched is a sink that remembers how its last write ended.
type Watched struct {
	Sink

	mu     sync.Mutex
	failed error     // of the last write; nil: it went well, or there was none
	at     time.Time // when it was found
}

var _ Sink = (*Watched)(nil)

// Watch returns a sink with the same objects.
func Watch(s Sink) *Watched { return &Watched{Sink: s} }

// State returns the error of the last write, nil if it succeeded. After a failure Check tests, at
// most once in 5 seconds, whether it persists; otherwise nothing is written.
func (w *Watched) State(ctx context.Context) error {
	w.mu.Lock()
	failed, stale := w.failed, time.Since(w.at) > checkAgain
	if failed != nil && stale {
		w.at = time.Now() // others believe what was found before
	}
	w.mu.Unlock()
	if failed == nil || !stale {
		return failed
	}
	return w.Check(ctx)
}

// Check is that of the sink, and counts as a write.
func (w *Watched) Check(ctx context.Context) error { return w.note(ctx, w.Sink.Check(ctx)) }

// note remembers how a write ended, and returns its error. Writes that the caller gave up do not
// count. For an object that conflicts or is too large the sink did what it should.
func (w *Watched) note(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed, w.at = err, time.Now()
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrTooLarge) {
		w.failed = nil
	}
	return err
}

// Create is that of the sink.
func (w *Watched) Create(ctx context.Context, o Object) (Writer, error) {
	writer, err := w.Sink.Create(ctx, o)
	if err != nil {
		return nil, w.note(ctx, err)
	}
	return &watchedWriter{writer, w, ctx}, nil
}

// watchedWriter remembers for a Watched how a write ended.
type watchedWriter struct {
	Writer
	of  *Watched
	ctx context.Context
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = w.of.note(w.ctx, err)
	}
	return n, err
}

func (w *watchedWriter) Commit() (Committed, error) {
	done, err := w.Writer.Commit()
	return done, w.of.note(w.ctx, err)
}
