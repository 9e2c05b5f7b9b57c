// Package screen shows texts to people: nothing that a terminal would obey reaches it.
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

// Screen is where all text goes that people read. Data of others, such as the error of a
// record or a member of a set, can hold what a terminal would obey: it is written so that
// it can be seen, as \u001b for ESC, which is the same text in JSON.
type Screen struct {
	out     io.Writer
	mu      sync.Mutex
	partial []byte // the beginning of a character whose rest comes with the next Write
}

// New makes a screen of a writer.
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

// Terminal is the terminal that a writer is the screen of, and how many columns it has;
// nil where people do not see what is written as it is written.
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

// Bytes is the writer behind a screen, for a file: what is no terminal obeys no character.
func Bytes(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok && !OnTerminal(w) {
		return s.out
	}
	return w
}

// OnTerminal tells whether a writer is a terminal's screen.
func OnTerminal(w io.Writer) bool {
	file, _ := Terminal(w)
	return file != nil
}

// Colours tells whether a terminal is to have colours: see https://no-color.org.
func Colours() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// Visible writes what a terminal would obey as what can be seen: control characters but
// the end of a line and TAB, and what turns the direction of a text around. A byte that
// is no text becomes U+FFFD.
func Visible(content string) string {
	if strings.IndexFunc(content, obeyed) < 0 {
		return strings.ToValidUTF8(content, "\uFFFD")
	}
	var b strings.Builder
	for _, r := range content {
		if obeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func obeyed(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// OneLine is a text of others that must not begin a line of its own.
func OneLine(content string) string {
	return Visible(strings.NewReplacer("\r\n", `\n`, "\n", `\n`).Replace(content))
}

// leastWidth is how narrow Fit makes a column.
const leastWidth = 10

// Fit makes columns narrower, the widest ones first, until all of them together are at most so wide.
func Fit(widths []int, most int) []int {
	widths = slices.Clone(widths)
	sum := 0
	for _, n := range widths {
		sum += n
	}
	for ; sum > most; sum-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= leastWidth {
			break
		}
		widths[widest]--
	}
	return widths
}

// Wrap breaks lines between words, and a word that is longer than a line where the line ends.
func Wrap(content string, width int) string { return text.WrapText(WrapWords(content, width), width) }

// WrapWords breaks lines between words alone: a longer word stays whole.
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
