// Package excerpt answers one question: what is kept of an entry that cannot be used?
//
// It writes the fields of an entry as one text of limited size, which people and Parse read.
package excerpt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Max is the max size of what is kept of a foreign entry, in bytes.
const Max = 1024

// Cut stands behind fields that are not whole.
const Cut = "…"

// Of returns fields as a text of limited size, which Parse reads: name=value,
// with quotes where a text has spaces, quotes or characters that are not printable.
func Of(fields map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		// A text is cut before it is quoted, so that a large one costs little.
		fmt.Fprintf(&text, " %s=%s", quoted(name), quoted(fields[name]))
		if text.Len() > Max {
			return strings.ToValidUTF8(text.String()[1:Max-len(Cut)], "") + " " + Cut
		}
	}
	return strings.TrimPrefix(text.String(), " ")
}

func quoted(text string) string {
	long := len(text) > Max
	if q := strconv.Quote(text[:min(len(text), Max)]); long || q != `"`+text+`"` || strings.ContainsAny(text, " ="+Cut) {
		return q
	}
	return text
}

// Parse reads the fields of a quarantined entry. Whole tells whether they are all that
// the entry had.
func Parse(text string) (fields map[string]string, whole bool) {
	fields = map[string]string{}
	next := func(end string) (string, bool) {
		if q, err := strconv.QuotedPrefix(text); err == nil && q[0] == '"' {
			text = text[len(q):]
			q, err = strconv.Unquote(q)
			return q, err == nil
		}
		i := strings.IndexAny(text, end)
		if i < 0 {
			i = len(text)
		}
		word := text[:i]
		text = text[i:]
		return word, !strings.ContainsAny(word, `"`)
	}
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		name, ok := next("= ")
		value, assigned := "", strings.HasPrefix(text, "=")
		if !ok || !assigned {
			return fields, false
		}
		text = text[1:]
		if value, ok = next(" "); !ok {
			return fields, false
		}
		fields[name] = value
	}
	return fields, true
}
