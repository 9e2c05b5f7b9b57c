package screen

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// TestLive: Draw redraws until a key or a signal, shows no more lines than fit, and restores the terminal.
func TestLive(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"q", "\x03", "signal"} {
		keys, press := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		out := &strings.Builder{}
		frames := 0
		l := live{out: out, size: func() (int, int) { return 80, 4 }, keys: keys, every: time.Millisecond, frame: func(_ context.Context, width, height int) []string {
			frames++
			switch {
			case width != 80 || height != 4:
				t.Errorf("%d columns, %d lines", width, height)
			case frames == 2 && by == "signal":
				stop()
			case frames == 2:
				if _, err := press.Write([]byte("x" + by)); err != nil {
					t.Error(err)
				}
			}
			return []string{"one", "two", "three", "four", "five"}
		}}
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
