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

// View is what Draw shows. Its methods are not called at the same time.
type View interface {
	// Reading returns a function that reads new data. Draw runs it beside the view, and then calls its result.
	Reading() func(ctx context.Context) (show func())
	// Lines returns the lines, which must be visible and not wider than the terminal.
	Lines(width, height int) []string
	// Press handles a key: a character, or up, down, pgup, pgdn, enter, backspace or esc. It returns whether to read
	// anew, and whether Draw ends.
	Press(key string) (read, end bool)
}

// Draw redraws a terminal after every read, every key, and when its size changes, until a key, Ctrl-C or the
// end of ctx, and then restores it. Between reads it rests at least for every, and ten times as long as the last
// read took.
func Draw(ctx context.Context, terminal *os.File, every time.Duration, view View) error {
	l := live{out: terminal, every: every, view: view, size: func() (int, int) {
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

// live is a terminal that is redrawn.
type live struct {
	out   io.Writer
	size  func() (width, height int)
	keys  io.Reader // nil: no keyboard
	view  View
	every time.Duration // minimum time between reads
}

const (
	// rest is the minimum ratio of rest to work.
	rest = 10
	// sizeEvery is how often the size of the terminal is compared.
	sizeEvery = 200 * time.Millisecond
)

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
	keys := make(chan string)
	if l.keys != nil {
		go l.listen(ctx, keys, stop) // it ends with the process, or the next key
	}
	if _, err := io.WriteString(l.out, enterScreen); err != nil {
		return err
	}
	defer io.WriteString(l.out, leaveScreen)
	sizes, due, done := time.NewTicker(sizeEvery), time.NewTimer(0), make(chan func(), 1)
	defer sizes.Stop()
	defer due.Stop()
	var began time.Time // of the running read; zero: none
	var again bool      // read at once when it has ended
	var width, height int
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			began, again = time.Now(), false
			read := l.view.Reading()
			go func() { done <- read(ctx) }()
			continue
		case show := <-done:
			show()
			pause := max(l.every, rest*time.Since(began))
			if began = (time.Time{}); again {
				pause = 0
			}
			due.Reset(pause)
		case key := <-keys:
			read, end := l.view.Press(key)
			if end {
				return nil
			}
			if again = read; read && began.IsZero() {
				due.Reset(0)
			}
		case <-sizes.C:
			if w, h := l.size(); w == width && h == height {
				continue
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		width, height = l.size()
		lines := l.view.Lines(width, height)
		text := toBegin + strings.Join(lines[:min(len(lines), max(1, height-1))], endOfLine) + endOfLine + clearRest
		if _, err := io.WriteString(l.out, text); err != nil {
			return err
		}
	}
}

// named are the keys that have names.
var named = map[string]string{
	"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x1b[5~": "pgup", "\x1b[6~": "pgdn",
	"\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace", "\x1b": "esc",
}

// listen sends the keys, and stops at Ctrl-C or Ctrl-D. A terminal in raw mode sends no signal for Ctrl-C.
func (l *live) listen(ctx context.Context, keys chan<- string, stop func()) {
	defer stop()
	in := bufio.NewReader(l.keys)
	for {
		const interrupt, end = "\x03", "\x04"
		key, err := readKey(in)
		if err != nil || key == interrupt || key == end {
			return
		}
		select {
		case keys <- key:
		case <-ctx.Done():
			return
		}
	}
}

// readKey returns the next character or the name of a key. A terminal sends the bytes of a key at once.
func readKey(in *bufio.Reader) (string, error) {
	r, _, err := in.ReadRune()
	text := string(r)
	for err == nil && text[0] == '\x1b' && in.Buffered() > 0 {
		var next byte
		next, err = in.ReadByte()
		text += string(next)
		if len(text) > 2 && next >= '@' || len(text) == 2 && next != '[' && next != 'O' {
			break
		}
	}
	if name := named[text]; name != "" {
		return name, err
	}
	return text, err
}
