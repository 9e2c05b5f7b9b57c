package quiet

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

// mostLines bounds the lines that are counted at once; beyond, each is written.
const mostLines = 5000

// Handler writes warnings and errors that repeat themselves once, and how many more there
// were once in each interval. What has a job counts as another line for each job, unless
// the fault is that of a key or of a full Redis, which is the same for all. Lines whose
// error matches ErrDown are dropped.
type Handler struct {
	next   slog.Handler
	with   string // what With and WithGroup have added
	counts *counts
}

var _ slog.Handler = (*Handler)(nil)

// counts are the lines that repeat themselves.
type counts struct {
	interval time.Duration
	mu       sync.Mutex
	lines    map[string]*line
	closed   bool
}

// line is one of them.
type line struct {
	next  slog.Handler
	first slog.Record
	more  int
	timer *time.Timer
}

// New returns a Handler in front of another one. Close writes what was counted.
func New(next slog.Handler, interval time.Duration) *Handler {
	return &Handler{next: next, counts: &counts{interval: interval, lines: map[string]*line{}}}
}

// Enabled tells whether the handler behind writes lines of a level.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs returns a Handler that counts together with this one.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := h.with
	for _, a := range attrs {
		if a.Key != "role" { // roles say the same
			with += "|" + a.String()
		}
	}
	return &Handler{next: h.next.WithAttrs(attrs), with: with, counts: h.counts}
}

// WithGroup returns a Handler that counts together with this one.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), with: h.with + "|" + name, counts: h.counts}
}

// Handle writes a line, counts it, or drops it.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	key, drop := h.key(r)
	if drop || key != "" && h.counts.repeats(key, h.next, r) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

var digits = regexp.MustCompile(`[0-9]+`)

// key is what makes a line the same as another one; empty: it is not counted.
func (h *Handler) key(r slog.Record) (key string, drop bool) {
	var fault error
	var names, others strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			fault = errors.Join(fault, err)
			names.WriteString("|" + digits.ReplaceAllString(err.Error(), "#"))
			return true
		}
		switch a.Key {
		case "what", "why", "stream", "listener", "step", "key":
			names.WriteString("|" + digits.ReplaceAllString(a.String(), "#"))
		case "job", "timer", "entry":
			others.WriteString("|" + a.String())
		}
		return true
	})
	if errors.Is(fault, ErrDown) {
		return "", true
	}
	if r.Level < slog.LevelWarn {
		return "", false
	}
	key = r.Message + h.with + names.String()
	if why := names.String(); !strings.Contains(why, wrongType) && !strings.Contains(why, "OOM ") {
		key += others.String()
	}
	return key, false
}

// repeats tells whether a line was written in this interval.
func (c *counts) repeats(key string, next slog.Handler, r slog.Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.lines[key]; have != nil {
		have.more++
		return true
	}
	if len(c.lines) < mostLines && !c.closed {
		c.lines[key] = &line{next: next, first: r.Clone(), timer: time.AfterFunc(c.interval, func() { c.tell(key) })}
	}
	return false
}

// tell writes how many lines more there were, and counts on where there were any.
func (c *counts) tell(key string) {
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

// write writes the last count.
func (l *line) write(interval time.Duration) {
	r := l.first.Clone()
	r.Time = time.Now()
	r.AddAttrs(slog.Int("more like this", l.more), slog.Duration("in the last", interval))
	_ = l.next.Handle(context.Background(), r)
}

// Close writes what was counted, and counts no more.
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
