package spool

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/sink"
)

// keptSegments is how many segments a Reader keeps in memory: the one that is read, and the next one.
const keptSegments = 2

// Reader reads the chunks of a dataset. It reads segments whole, and keeps two. It is safe for concurrent use.
type Reader struct {
	spool    *Spool
	names    []string // of the segments, in the sink
	segments []Segment
	firsts   []int64 // number of the first chunk of every segment
	columns  []string

	mu   sync.Mutex
	kept []*fetch // by use, the last one first
}

var _ dataset.Store = (*Reader)(nil)

// fetch is a segment that is being read, or was read.
type fetch struct {
	number int
	done   chan struct{}
	frames frames
	err    error
}

// Open returns a Reader of the dataset of a ticket, whose chunks have these columns in their order. It does no I/O.
// The error is Elsewhere if the ticket is of another spool, or matches ErrTicket.
func (s *Spool) Open(ticket string, columns []string) (*Reader, error) {
	t, err := ParseTicket(ticket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTicket, err)
	}
	r := &Reader{spool: s, columns: columns}
	var chunks int64
	for url, segment := range t.Segments() {
		if s == nil {
			return nil, Elsewhere{url, "not configured"}
		}
		name, ok := s.o.Sink.Name(url)
		if !ok {
			return nil, Elsewhere{url, strings.TrimSuffix(s.o.Sink.URL("x"), "/x")}
		}
		r.names, r.segments = append(r.names, name), append(r.segments, segment)
		r.firsts, chunks = append(r.firsts, chunks), chunks+segment.Chunks
	}
	r.firsts = append(r.firsts, chunks)
	return r, nil
}

// Get implements dataset.Store. The error is Damaged if the segment is missing or has other bytes than its ticket says,
// or matches ErrTicket; other errors are those of the sink.
func (r *Reader) Get(ctx context.Context, columns []string, chunk int64) ([][]byte, error) {
	i := sort.Search(len(r.firsts), func(i int) bool { return r.firsts[i] > chunk }) - 1
	if chunk < 0 || i == len(r.segments) {
		return nil, fmt.Errorf("%w: it has %d chunks and no chunk %d", ErrTicket, r.firsts[len(r.firsts)-1], chunk)
	}
	f, err := r.segment(ctx, i)
	if err != nil {
		return nil, err
	}
	if next := i + 1; next < len(r.segments) && 2*(chunk-r.firsts[i]+1) > r.segments[i].Chunks {
		r.ahead(ctx, next)
	}
	fields := make([][]byte, len(columns))
	for k, name := range columns {
		column := slices.Index(r.columns, name)
		if column < 0 {
			return nil, fmt.Errorf("%w: it has no column %q", ErrTicket, name)
		}
		fields[k] = f.frame(chunk-r.firsts[i], column)
	}
	return fields, nil
}

// segment returns a segment. Callers of the same one share its read.
func (r *Reader) segment(ctx context.Context, number int) (frames, error) {
	for {
		f, mine := r.fetch(number)
		if mine {
			r.finish(ctx, f)
			return f.frames, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return frames{}, context.Cause(ctx)
		}
		// Another caller's context may have ended while it read for this one, too.
		if f.err == nil || !errors.Is(f.err, context.Canceled) || ctx.Err() != nil {
			return f.frames, f.err
		}
	}
}

// ahead begins to read a segment, unless that has begun, so that nobody waits for it later. The context ends the read.
func (r *Reader) ahead(ctx context.Context, number int) {
	r.mu.Lock()
	begun := slices.ContainsFunc(r.kept, func(f *fetch) bool { return f.number == number })
	r.mu.Unlock()
	if begun {
		return
	}
	if f, mine := r.fetch(number); mine {
		go r.finish(ctx, f)
	}
}

// finish reads a segment for all who wait for it.
func (r *Reader) finish(ctx context.Context, f *fetch) {
	if f.frames, f.err = r.read(ctx, f.number); f.err != nil {
		r.forget(f)
	}
	close(f.done)
}

// fetch returns the read of a segment, and whether the caller must do it.
func (r *Reader) fetch(number int) (f *fetch, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.kept, func(f *fetch) bool { return f.number == number })
	if i >= 0 {
		f = r.kept[i]
		r.kept = slices.Delete(r.kept, i, i+1)
	} else {
		f, mine = &fetch{number: number, done: make(chan struct{})}, true
	}
	r.kept = slices.Insert(r.kept, 0, f)
	if len(r.kept) > keptSegments {
		r.kept = slices.Delete(r.kept, keptSegments, len(r.kept))
	}
	return f, mine
}

// forget makes the next caller read a segment again.
func (r *Reader) forget(f *fetch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = slices.DeleteFunc(r.kept, func(k *fetch) bool { return k == f })
}

// read reads a segment and compares it with the ticket.
func (r *Reader) read(ctx context.Context, number int) (frames, error) {
	name, want := r.names[number], r.segments[number]
	url := r.spool.o.Sink.URL(name)
	in, err := r.spool.open(ctx, name, "something other than Fanfold has deleted it, its disk was lost, "+
		"or the machines do not share the directory")
	if err != nil {
		return frames{}, err
	}
	defer in.Close()
	text := make([]byte, want.Bytes)
	n, err := io.ReadFull(in, text)
	switch {
	case err == io.EOF, err == io.ErrUnexpectedEOF: // as they are: in another error, the connection was cut
		return frames{}, Damaged{url, fmt.Sprintf("has only %d of its %d bytes", n, want.Bytes)}
	case err != nil:
		return frames{}, fmt.Errorf("segment %s: %w", url, err)
	case crc32.Checksum(text, castagnoli) != want.CRC32C:
		return frames{}, Damaged{url, "is damaged: its checksum is not that in Redis"}
	}
	if more, _ := in.Read(make([]byte, 1)); more > 0 {
		return frames{}, Damaged{url, fmt.Sprintf("has more than its %d bytes", want.Bytes)}
	}
	f, err := parse(text)
	if err == nil && (f.columns != len(r.columns) || f.chunks != want.Chunks) {
		err = fmt.Errorf("its index says %d columns × %d chunks, not the %d × %d of its ticket", f.columns, f.chunks,
			len(r.columns), want.Chunks)
	}
	if err != nil {
		return frames{}, Damaged{url, "is damaged: " + err.Error()}
	}
	return f, nil
}

// open opens a segment. If it does not exist, the error is Damaged, and says why that can be.
func (s *Spool) open(ctx context.Context, name, why string) (io.ReadCloser, error) {
	url := s.o.Sink.URL(name)
	in, err := s.o.Sink.Open(ctx, name)
	if errors.Is(err, sink.ErrNoObject) {
		// A directory that is not mounted has no segments, either.
		if err = s.o.Sink.Check(ctx); err == nil {
			return nil, Damaged{url, "does not exist: " + why}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("segment %s: %w", url, err)
	}
	return in, nil
}
