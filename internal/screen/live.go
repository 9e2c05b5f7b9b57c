package screen

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Draw redraws a terminal until q, Ctrl-C or the end of ctx, and then restores it. Frame returns
// the lines, which must be visible and not wider than the terminal. Between frames it rests at
// least for every, and ten times as long as the last frame took.
func Draw(ctx context.Context, terminal *os.File, every time.Duration,
	frame func(ctx context.Context, width, height int) []string) error {
	l := live{out: terminal, every: every, frame: frame, size: func() (int, int) {
		width, height, err := term.GetSize(int(terminal.Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}}
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		before, err := term.MakeRaw(in)
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(in, before) }()
		l.keys = os.Stdin
	}
	return l.run(ctx)
}

// live is a terminal that is redrawn periodically.
type live struct {
	out   io.Writer
	size  func() (width, height int)
	keys  io.Reader // nil: no keyboard
	frame func(ctx context.Context, width, height int) []string
	every time.Duration // minimum time between frames
}

// rest is the minimum ratio of rest to work.
const rest = 10

// Control sequences.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // alternate screen, cursor hidden
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toBegin     = "\x1b[H"
	endOfLine   = "\x1b[K\r\n"
	clearRest   = "\x1b[J"
)

func (l *live) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if l.keys != nil {
		go l.listen(ctx, stop) // it ends with the process, or the next key
	}
	if _, err := io.WriteString(l.out, enterScreen); err != nil {
		return err
	}
	defer io.WriteString(l.out, leaveScreen)
	for {
		began := time.Now()
		width, height := l.size()
		lines := l.frame(ctx, width, height)
		if ctx.Err() != nil {
			return nil
		}
		text := toBegin + strings.Join(lines[:min(len(lines), max(1, height-1))], endOfLine) + endOfLine + clearRest
		if _, err := io.WriteString(l.out, text); err != nil {
			return err
		}
		timer := time.NewTimer(max(l.every, rest*time.Since(began)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// listen stops at q, Ctrl-C or Ctrl-D. A terminal in raw mode sends no signal for Ctrl-C.
func (l *live) listen(ctx context.Context, stop func()) {
	keys := bufio.NewReader(l.keys)
	for ctx.Err() == nil {
		const interrupt, end = 3, 4 // Ctrl-C, Ctrl-D
		if key, err := keys.ReadByte(); err != nil || key == 'q' || key == 'Q' || key == interrupt || key == end {
			stop()
			return
		}
	}
}
