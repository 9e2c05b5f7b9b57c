package quiet

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxLines is the maximum number of different lines that are counted at once. Further ones are
// always written.
const maxLines = 5000

// Varies is an attribute that does not distinguish lines, such as an example.
type Varies string

// Handler writes the first of equal warnings or errors, and after the interval the last one with
// the number of repetitions. Lines are equal if message and attributes are equal. Numbers, durations,
// times, booleans and Varies do not count, nor do volatile words of sentences. If the cause is a full
// Redis or a key of the wrong type, only the message counts. Lines whose error matches ErrDown are
// dropped.
type Handler struct {
	slog.Handler
	with []slog.Attr // added by WithAttrs
	*counter
}

// counter counts the lines of an interval.
type counter struct {
	interval time.Duration
	mu       sync.Mutex
	lines    map[string]*line
	closed   bool // all lines are written
}

type line struct {
	more  int
	write func() // writes the last one, whose job may still run
}

// New returns a Handler that writes to next. Close writes the last counts.
func New(next slog.Handler, interval time.Duration) *Handler {
	return &Handler{next, nil, &counter{interval: interval, lines: map[string]*line{}}}
}

// WithAttrs returns a Handler that shares its counts with this one.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{h.Handler.WithAttrs(attrs), slices.Concat(h.with, attrs), h.counter}
}

// WithGroup returns a Handler that shares its counts with this one.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.Handler.WithGroup(name), h.with, h.counter}
}

// Handle writes a line, counts it, or drops it.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	key, outage := h.key(r)
	if outage || r.Level >= slog.LevelWarn && h.repeated(key, h.Handler, r) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

var (
	// volatile matches what differs every time in a sentence: local ports, ids of stream entries,
	// durations, and numbers of six digits or more. Shorter numbers are codes and ports.
	volatile = regexp.MustCompile(`\S+->|\b([0-9]{6,}(-[0-9]+)?|([0-9.]+(ns|µs|ms|s|m|h))+)\b`)
	// common matches a cause that the lines of many jobs have in common.
	common = regexp.MustCompile(`OOM |the key \S+ is a`)
	// wrongType matches a key of the wrong type whose name is not known.
	wrongType = regexp.MustCompile(`WRONGTYPE `)
)

// key identifies equal lines, and reports whether their cause is an outage of Redis.
func (h *Handler) key(r slog.Record) (key string, outage bool) {
	attrs := slices.Clone(h.with)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	key = r.Message
	for _, a := range attrs {
		switch v := a.Value.Any().(type) {
		case int64, uint64, float64, bool, time.Duration, time.Time, Varies:
			continue
		case error:
			outage = outage || errors.Is(v, ErrDown)
		}
		text := a.Value.String()
		if cause := cmp.Or(common.FindString(text), wrongType.FindString(text)); cause != "" {
			return r.Message + "|" + cause, outage
		}
		if strings.Contains(text, " ") { // a sentence, not a name
			text = volatile.ReplaceAllString(text, "#")
		}
		key += "|" + a.Key + "=" + text
	}
	return key, outage
}

// repeated counts a line, and reports whether it was written in this interval.
func (c *counter) repeated(key string, next slog.Handler, r slog.Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.lines[key]; l != nil {
		l.more++
		last := r.Clone()
		last.AddAttrs(slog.Int("more like this", l.more), slog.Duration("in the last", c.interval))
		l.write = func() { _ = next.Handle(context.Background(), last) }
		return true
	}
	if len(c.lines) < maxLines && !c.closed {
		c.lines[key] = &line{write: func() {}}
		time.AfterFunc(c.interval, func() { c.flush(key) })
	}
	return false
}

// flush writes the last of repeated lines with their number.
func (c *counter) flush(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.lines[key]; l != nil {
		delete(c.lines, key)
		l.write()
	}
}

// Close writes the counts that are not written yet. Later lines are all written.
func (h *Handler) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		l.write()
	}
	clear(h.lines)
	h.closed = true
}
