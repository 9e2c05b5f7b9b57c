// Package screen answers one question: how is text shown to people safely? No control character of
// foreign data reaches the terminal.
package screen

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Screen is the destination of all text that people read. Foreign data, such as the error of a
// record or a member of a set, can contain control characters: they are written visibly, as \u001b
// for ESC, which is the same text in JSON.
type Screen struct {
	out     io.Writer
	mu      sync.Mutex
	partial []byte // the beginning of a character that the next Write completes
}

// New returns a Screen that writes to out.
func New(out io.Writer) *Screen { return &Screen{out: out} }

// Write implements io.Writer.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(s.partial, b...)
	whole := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if utf8.RuneStart(all[len(all)-i]) {
			if !utf8.FullRune(all[len(all)-i:]) {
				whole -= i
			}
			break
		}
	}
	s.partial = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(s.out, Visible(string(all[:whole]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Terminal returns the terminal behind a Screen and its number of columns; nil if the output is not
// a terminal.
func Terminal(w io.Writer) (*os.File, int) {
	s, ok := w.(*Screen)
	if !ok {
		return nil, 0
	}
	file, ok := s.out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return file, width
}

// Bytes returns the writer behind a Screen if it is not a terminal: files may contain any
// character.
func Bytes(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok && !OnTerminal(w) {
		return s.out
	}
	return w
}

// OnTerminal tells whether a writer is the Screen of a terminal.
func OnTerminal(w io.Writer) bool {
	file, _ := Terminal(w)
	return file != nil
}

// Colours tells whether a terminal may show colours: see https://no-color.org.
func Colours() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// Visible makes control characters visible, except newline and TAB, and characters that change the
// direction of text. Invalid UTF-8 becomes U+FFFD.
func Visible(content string) string {
	if strings.IndexFunc(content, isControl) < 0 {
		return strings.ToValidUTF8(content, "\uFFFD")
	}
	var b strings.Builder
	for _, r := range content {
		if isControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isControl(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// OneLine returns foreign text without line breaks.
func OneLine(content string) string {
	return Visible(strings.NewReplacer("\r\n", `\n`, "\n", `\n`).Replace(content))
}

// minWidth is the minimum width of a column in Fit.
const minWidth = 10

// Fit narrows columns, the widest ones first, until their sum is at most total.
func Fit(widths []int, total int) []int {
	widths = slices.Clone(widths)
	for all := sum(widths); all > total; all-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= minWidth {
			break
		}
		widths[widest]--
	}
	return widths
}

// Wrap breaks lines between words, and breaks words that are longer than a line.
func Wrap(content string, width int) string { return text.WrapText(WrapWords(content, width), width) }

// WrapWords breaks lines only between words: a longer word stays whole.
func WrapWords(content string, width int) string {
	var b strings.Builder
	for i, line := range strings.Split(content, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		used := 0
		for j, word := range strings.Split(line, " ") {
			n := text.StringWidthWithoutEscSequences(word)
			switch {
			case j == 0:
			case used+1+n > width:
				b.WriteByte('\n')
				used = 0
			default:
				b.WriteByte(' ')
				used++
			}
			b.WriteString(word)
			used += n
		}
	}
	return b.String()
}
