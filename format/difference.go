package format

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
)

// Line is the header or a row of a finished file.
type Line struct {
	Number int      // of its first line in the file, from 1
	Cells  []string // as they are in the file, with quotes
	End    string   // of the line
}

// maxDifferences is how many differences are described.
const maxDifferences = 20

// Differences says, one a line, where a file that was made is another than expected. Both have no compression. It
// returns nil if the files are equal.
func (ks Kinds) Differences(f *report.File, expected, made []byte) []string {
	k, err := ks.of(f)
	switch {
	case err != nil:
		return []string{err.Error()}
	case bytes.Equal(expected, made):
		return nil
	case !utf8.Valid(expected) || !utf8.Valid(made):
		at := commonPrefix(expected, made)
		return []string{fmt.Sprintf("byte %d is the first that differs: expected %d bytes in all, but the file has %d",
			at+1, len(expected), len(made))}
	}
	lines := k.Lines
	if lines == nil {
		lines = func(_ *report.File, file []byte) []Line { return splitLines(file, 0) }
	}
	d := &differences{cells: k.Lines != nil, want: lines(f, expected), got: lines(f, made)}
	if at := d.areEnds(); at >= 0 {
		return []string{fmt.Sprintf("only line ends differ, from line %d on: expected %q, but the file has %q. If Git "+
			"changes them, write \"expected.* -text\" into .gitattributes", d.want[at].Number, d.want[at].End, d.got[at].End)}
	}
	d.compare()
	return d.texts
}

func commonPrefix[T comparable](a, b []T) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// splitLines splits a text at its line ends, and lines at the delimiter; 0: they have one cell. Neither counts in
// double quotes if there is a delimiter.
func splitLines(text []byte, delimiter byte) (lines []Line) {
	line, number, start, quoted := Line{Number: 1}, 1, 0, false
	for i, c := range text {
		switch {
		case c == '"' && delimiter != 0:
			quoted = !quoted
		case c == '\n':
			if number++; quoted {
				continue
			}
			end := i
			if line.End = "\n"; end > start && text[end-1] == '\r' {
				end, line.End = end-1, "\r\n"
			}
			line.Cells = append(line.Cells, string(text[start:end]))
			lines, start = append(lines, line), i+1
			line = Line{Number: number}
		case c == delimiter && delimiter != 0 && !quoted:
			line.Cells, start = append(line.Cells, string(text[start:i])), i+1
		}
	}
	if start < len(text) || line.Cells != nil {
		line.Cells = append(line.Cells, string(text[start:]))
		lines = append(lines, line)
	}
	return lines
}

// differences compares two files.
type differences struct {
	cells     bool // cells have columns of the header
	want, got []Line
	texts     []string
	more      int
}

// key is a line as one comparable value.
func (l Line) key() string {
	var key []byte
	for _, c := range l.Cells {
		key = append(strconv.AppendInt(key, int64(len(c)), 10), ':')
		key = append(key, c...)
	}
	return string(key) + l.End
}

// areEnds returns the first line that ends differently if nothing else differs, or -1.
func (d *differences) areEnds() int {
	first := -1
	for i, a := range d.want {
		if len(d.want) != len(d.got) {
			return -1
		}
		b := d.got[i]
		if a.End != b.End && first < 0 {
			first = i
		}
		if a.End = b.End; a.key() != b.key() {
			return -1
		}
	}
	return first
}

func (d *differences) add(format string, args ...any) {
	if len(d.texts) == maxDifferences {
		d.more++
		return
	}
	d.texts = append(d.texts, fmt.Sprintf(format, args...))
}

// compare describes the differences of lines, and of cells in lines that stand for one another.
func (d *differences) compare() {
	var want, got []string
	for _, l := range d.want {
		want = append(want, l.key())
	}
	for _, l := range d.got {
		got = append(got, l.key())
	}
	w, g := 0, 0
	for _, same := range append(common(want, got), [2]int{len(want), len(got)}) {
		for ; w < same[0] && g < same[1]; w, g = w+1, g+1 {
			d.line(d.want[w], d.got[g])
		}
		for ; w < same[0]; w++ {
			d.add("line %d is missing: %s", d.want[w].Number, shown(d.want[w]))
		}
		for ; g < same[1]; g++ {
			d.add("line %d of the file is not expected: %s", d.got[g].Number, shown(d.got[g]))
		}
		w, g = w+1, g+1
	}
	if d.more > 0 {
		d.texts = append(d.texts, fmt.Sprintf("… and %d more", d.more))
	}
}

// shown is a line without its cells' limits.
func shown(l Line) string {
	text := ""
	for i, c := range l.Cells {
		if i > 0 {
			text += " | "
		}
		text += c
	}
	return report.ShortenTo(text, 200)
}

// line describes how a line differs.
func (d *differences) line(want, got Line) {
	at := fmt.Sprintf("line %d", want.Number)
	if got.Number != want.Number {
		at += fmt.Sprintf(" (%d of the file)", got.Number)
	}
	switch {
	case len(want.Cells) != len(got.Cells):
		d.add("%s: expected %d columns, but the file has %d: %s", at, len(want.Cells), len(got.Cells), shown(got))
		return
	case want.End != got.End:
		d.add("%s ends with %q, not with the expected %q", at, got.End, want.End)
	}
	for i, w := range want.Cells {
		g := got.Cells[i]
		if w == g {
			continue
		}
		column := strconv.Itoa(utf8.RuneCountInString(w[:commonPrefix([]byte(w), []byte(g))]) + 1)
		if d.cells {
			if column = strconv.Itoa(i + 1); i < len(d.got[0].Cells) && got.Number > 1 {
				column = strings.TrimPrefix(d.got[0].Cells[i], "\ufeff")
			}
		}
		d.add("%s, column %s: expected %s, but the file has %s", at, column, orEmpty(w), orEmpty(g))
	}
}

func orEmpty(cell string) string {
	if cell == "" {
		return "an empty cell"
	}
	return report.ShortenTo(cell, 200)
}

// maxTable bounds the work of common: beyond it, lines are compared in pairs.
const maxTable = 4_000_000

// common returns pairs of indexes of equal elements, in order: a longest common subsequence, unless that is too much
// work.
func common(a, b []string) (pairs [][2]int) {
	start := commonPrefix(a, b)
	for i := range start {
		pairs = append(pairs, [2]int{i, i})
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	pairs = append(pairs, middle(a[start:endA], b[start:endB], start)...)
	for i := range len(a) - endA {
		pairs = append(pairs, [2]int{endA + i, endB + i})
	}
	return pairs
}

func middle(a, b []string, start int) (pairs [][2]int) {
	if len(a)*len(b) > maxTable {
		for i := range min(len(a), len(b)) {
			if a[i] == b[i] {
				pairs = append(pairs, [2]int{start + i, start + i})
			}
		}
		return pairs
	}
	length := make([][]int, len(a)+1) // of the longest common subsequence from there on
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{start + i, start + j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
