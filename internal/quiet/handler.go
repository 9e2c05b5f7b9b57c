package quiet

import (
	"context"
	"errors"
	"fmt"
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

// Handler writes repeated warnings and errors once, and then their number and the last of them once
// per interval. Lines are equal if message and attributes are equal. Numbers, durations, times,
// booleans and Varies do not count, nor do volatile words inside of sentences. Lines of
// different jobs, timers or entries are equal only if the cause is a key of the wrong type or a full
// Redis. Lines whose error matches ErrDown are dropped.
type Handler struct {
	next   slog.Handler
	with   []slog.Attr // added by With and WithGroup
	counts *counts
}

var _ slog.Handler = (*Handler)(nil)

// counts are the lines that are counted.
type counts struct {
	interval time.Duration
	mu       sync.Mutex
	lines    map[string]*line
	closed   bool
}

// line is a line that is counted.
type line struct {
	next  slog.Handler // of the last one
	last  slog.Record  // its job may still run; that of the first one may have ended long ago
	more  int
	timer *time.Timer
}

// New returns a Handler that writes to next. Close writes the last counts.
func New(next slog.Handler, interval time.Duration) *Handler {
	return &Handler{next: next, counts: &counts{interval: interval, lines: map[string]*line{}}}
}

// Enabled tells whether the next handler writes lines of a level.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs returns a Handler that shares its counts with this one.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{next: h.next.WithAttrs(attrs), with: slices.Concat(h.with, attrs), counts: h.counts}
}

// WithGroup returns a Handler that shares its counts with this one.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), with: slices.Concat(h.with, []slog.Attr{slog.String("group", name)}), counts: h.counts}
}

// Handle writes a line, counts it, or drops it.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	key, drop := h.key(r)
	if drop || key != "" && h.counts.repeats(key, h.next, r) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// key identifies equal lines; empty: the line is not counted.
func (h *Handler) key(r slog.Record) (key string, drop bool) {
	attrs := slices.Clone(h.with)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	var own []string // ids
	for _, a := range attrs {
		if err, ok := a.Value.Any().(error); ok && errors.Is(err, ErrDown) {
			return "", true
		}
		if slices.Contains(owners, a.Key) {
			own = append(own, a.Value.String())
		}
	}
	if r.Level < slog.LevelWarn {
		return "", false
	}
	key = r.Message
	for _, a := range attrs {
		if slices.Contains(owners, a.Key) {
			continue
		}
		switch v := a.Value.Any().(type) {
		case int64, uint64, float64, bool, time.Duration, time.Time, Varies:
		default:
			text := fmt.Sprint(v)
			if strings.Contains(text, " ") { // a sentence, not a name
				text = constant(text, own)
			}
			key += "|" + a.Key + "=" + text
		}
	}
	if !strings.Contains(key, wrongType) && !strings.Contains(key, "OOM ") {
		key += "|" + strings.Join(own, "|")
	}
	return key, false
}

// owners are the attributes that name what a line is about.
var owners = []string{"job", "timer", "entry"}

// volatile matches the words of a text that differ every time: ids of stream entries, durations, and
// numbers of six digits or more. Shorter numbers are codes and ports.
var volatile = regexp.MustCompile(`^([0-9]{6,}|[0-9]+-[0-9]+|([0-9.]+(ns|µs|ms|s|m|h))+)$`)

// constant returns a text without volatile words, the ids of its line and the local ports of
// connections.
func constant(text string, own []string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if _, to, ok := strings.Cut(word, "->"); ok {
			words[i] = to
			continue
		}
		bare := strings.Trim(word, `"'()[]{},;:.=`)
		if bare != "" && (slices.Contains(own, bare) || volatile.MatchString(bare)) {
			words[i] = strings.Replace(word, bare, "#", 1)
		}
	}
	return strings.Join(words, " ")
}

// repeats counts a line and tells whether it was written in this interval.
func (c *counts) repeats(key string, next slog.Handler, r slog.Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.lines[key]; have != nil {
		have.more++
		have.next, have.last = next, r.Clone()
		return true
	}
	if len(c.lines) < maxLines && !c.closed {
		c.lines[key] = &line{next: next, last: r.Clone(), timer: time.AfterFunc(c.interval, func() { c.writeCount(key) })}
	}
	return false
}

// writeCount writes the number of repetitions, and continues counting if there were any.
func (c *counts) writeCount(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.lines[key]; l != nil && !c.closed {
		if l.more == 0 {
			delete(c.lines, key)
			return
		}
		l.write(c.interval)
		l.more = 0
		l.timer.Reset(c.interval)
	}
}

// write writes the number of repetitions.
func (l *line) write(interval time.Duration) {
	r := l.last.Clone()
	r.Time = time.Now()
	r.AddAttrs(slog.Int("more like this", l.more), slog.Duration("in the last", interval))
	_ = l.next.Handle(context.Background(), r)
}

// Close writes the last counts and stops counting.
func (h *Handler) Close() {
	h.counts.mu.Lock()
	defer h.counts.mu.Unlock()
	h.counts.closed = true
	for key, l := range h.counts.lines {
		l.timer.Stop()
		if l.more > 0 {
			l.write(h.counts.interval)
		}
		delete(h.counts.lines, key)
	}
}
