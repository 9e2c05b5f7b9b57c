package xlsx

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Widths of columns in characters.
const (
	minWidth    = 8
	maxWidth    = 60
	filterWidth = 3 // of the button of a filter, and the margins
)

// columnsOf returns the widths of the columns, as the first rows need them, of which sample is the XML.
func (e *encoder) columnsOf(sample []byte) string {
	var most []int
	fixed := map[string]int{} // by style: those of dates and times, of which the XML has numbers
	for s, code := range e.codes {
		fixed[fmt.Sprint(int(s))] = len(strings.NewReplacer(`\`, "", "[", "", "]", "").Replace(code))
	}
	for row := range bytes.SplitSeq(sample, []byte(rowBegin)) {
		col := 0
		for cell := range bytes.SplitSeq(row, []byte("<c")) {
			if len(cell) == 0 || cell[0] != ' ' && cell[0] != '>' && cell[0] != '/' {
				continue // what precedes the first cell
			}
			if col == len(most) {
				most = append(most, minWidth)
			}
			most[col] = max(most[col], min(maxWidth, widthOf(cell, fixed)+filterWidth))
			col++
		}
	}
	if most == nil {
		return ""
	}
	var cols strings.Builder
	for i, width := range most {
		fmt.Fprintf(&cols, `<col min="%d" max="%d" width="%d" customWidth="1"/>`, i+1, i+1, width)
	}
	return "<cols>" + cols.String() + "</cols>"
}

// widthOf returns the characters of the longest line of a cell, of which the XML follows its <c.
func widthOf(cell []byte, fixed map[string]int) (longest int) {
	if style, ok := bytes.CutPrefix(cell, []byte(` s="`)); ok {
		style, _, _ = bytes.Cut(style, []byte(`"`))
		if width, ok := fixed[string(style)]; ok {
			return width
		}
	}
	for _, tag := range []string{"<v", "<t"} {
		_, text, ok := bytes.Cut(cell, []byte(tag))
		if !ok {
			continue
		}
		_, text, _ = bytes.Cut(text, []byte(">"))
		text, _, _ = bytes.Cut(text, []byte("<"))
		for line := range bytes.SplitSeq(text, []byte("&#10;")) {
			longest = max(longest, utf8.RuneCount(line))
		}
	}
	return longest
}
