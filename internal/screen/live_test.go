package screen

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a View that ends at q.
type fake struct {
	reads, height atomic.Int64
	pressed       []string
	drawn         func(f *fake)
}

func (f *fake) Reading() func(context.Context) func() {
	return func(context.Context) func() { return func() { f.reads.Add(1) } }
}

func (f *fake) Lines(_, height int) []string {
	f.height.Store(int64(height))
	f.drawn(f)
	return []string{"one", "two", "three", "four", "five"}
}

func (f *fake) Press(key string) (read, end bool) {
	f.pressed = append(f.pressed, key)
	return key == "r", key == "q"
}

// TestLive: Draw redraws until a key or a signal, shows no more lines than fit, and restores the terminal.
func TestLive(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"q", "\x03", "signal"} {
		keys, press := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		out := &strings.Builder{}
		frames := 0
		view := &fake{drawn: func(*fake) {
			if frames++; frames != 2 {
				return
			}
			if by == "signal" {
				stop()
				return
			}
			go func() { _, _ = press.Write([]byte("x" + by)) }()
		}}
		l := live{out: out, size: func() (int, int) { return 80, 4 }, keys: keys, every: time.Millisecond, view: view}
		if err := l.run(ctx); err != nil {
			t.Error(err)
		}
		stop()
		_ = press.Close()
		first := enterScreen + toBegin + "one" + endOfLine + "two" + endOfLine + "three" + endOfLine + clearRest
		if text := out.String(); !strings.HasPrefix(text, first) || !strings.HasSuffix(text, leaveScreen) || strings.Contains(text, "four") || frames < 2 {
			t.Errorf("%s: %d frames, %q", by, frames, text)
		}
	}
}

// TestLiveFollows: a key that asks for it reads at once, and a new size draws at once.
func TestLiveFollows(t *testing.T) {
	t.Parallel()
	keys, press := io.Pipe()
	var height atomic.Int64
	height.Store(20)
	send := func(text string) { go func() { _, _ = press.Write([]byte(text)) }() }
	view := &fake{drawn: func(f *fake) {
		switch {
		case f.reads.Load() == 1 && len(f.pressed) == 0:
			send("r")
		case f.reads.Load() == 2 && height.Load() == 20:
			height.Store(30)
		case f.height.Load() == 30 && len(f.pressed) == 1:
			send("\x1b[A\x1b[6~\x1bOBä\x1b[1;5Cq")
		}
	}}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	l := live{out: io.Discard, size: func() (int, int) { return 80, int(height.Load()) }, keys: keys, every: time.Hour, view: view}
	if err := l.run(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	if got := strings.Join(view.pressed, " "); got != "r up pgdn down ä \x1b[1;5C q" {
		t.Errorf("%q", got)
	}
}
