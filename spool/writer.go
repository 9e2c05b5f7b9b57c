package spool

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/sink"
)

// Writer writes the dataset of one try of a task. It is used by one goroutine, and needs no end: what was not
// committed is gone.
type Writer struct {
	spool    *Spool
	name     Name
	metadata map[string]string
	segment  segment
}

// Create begins the dataset of a try. The Tag and the Number of the name are ignored.
func (s *Spool) Create(n Name) *Writer {
	n.Tag, n.Number = s.o.Tag, 0
	w := &Writer{spool: s, name: n, segment: segment{plain: s.o.Plain}, metadata: map[string]string{
		"fanfold-record": n.ID, "fanfold-attempt": strconv.FormatInt(n.Attempt, 10),
	}}
	if n.Tag != "" {
		w.metadata["fanfold-installation"] = n.Tag
	}
	return w
}

// URL returns the first word of the ticket.
func (w *Writer) URL() string { return w.spool.URL(w.name) }

// Number returns how many segments are committed.
func (w *Writer) Number() int { return w.name.Number }

// Add adds a chunk to the segment: the JSON of every column. Full tells then whether to commit it.
func (w *Writer) Add(rows int64, fields [][]byte) { w.segment.add(rows, fields) }

// Full tells whether the segment should be committed.
func (w *Writer) Full() bool { return len(w.segment.text) >= w.spool.o.SegmentBytes }

// Empty tells whether the segment has no chunk.
func (w *Writer) Empty() bool { return len(w.segment.lengths) == 0 }

// pauses are those between the tries of a commit, which takes at most patience and one try. Then the spool is away: a
// database ends a query that nobody reads for a minute.
var pauses = []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second}

const patience = 30 * time.Second

// Commit writes the segment into the spool and begins the next one. The segment is part of the dataset once Redis
// lists it. It tries again for some seconds, but not behind a try that took longer than patience. The error of a
// refusal matches sink.ErrRefused.
func (w *Writer) Commit(ctx context.Context) (Segment, error) {
	s, began := w.segment.end(), time.Now()
	for try := 0; ; try++ {
		err := w.write(ctx)
		if err == nil {
			break
		}
		final := errors.Is(err, sink.ErrRefused) || errors.Is(err, sink.ErrConflict)
		if final || ctx.Err() != nil || try == len(pauses) || time.Since(began) >= patience {
			return Segment{}, err
		}
		select {
		case <-ctx.Done():
			return Segment{}, context.Cause(ctx)
		case <-time.After(pauses[try]):
		}
	}
	w.name.Number++
	w.segment.reset()
	return s, nil
}

func (w *Writer) contentType() string {
	if w.segment.plain {
		return "application/octet-stream"
	}
	return "application/zstd"
}

// write writes the segment once.
func (w *Writer) write(ctx context.Context) error {
	object, err := w.spool.o.Sink.Create(ctx, sink.Object{
		Name: w.name.String(), ContentType: w.contentType(), Metadata: w.metadata,
	})
	if err != nil {
		return err
	}
	defer object.Abort()
	if _, err := object.Write(w.segment.text); err != nil {
		return err
	}
	_, err = object.Commit() // the same segment is adopted
	return err
}
