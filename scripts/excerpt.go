package scripts

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxExcerpt is the max size of what the quarantine keeps of an entry, in bytes.
const maxExcerpt = 1024

// cutMark follows fields that were cut.
const cutMark = "…"

// excerpt returns fields as a text of limited size, which ParseExcerpt reads: name=value, with quotes
// around a text with spaces, quotes or characters that are not printable.
func excerpt(fields map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		// A text is cut before it is quoted, so that a large one costs little.
		fmt.Fprintf(&text, " %s=%s", quoted(name), quoted(fields[name]))
		if text.Len() > maxExcerpt {
			return strings.ToValidUTF8(text.String()[1:maxExcerpt-len(cutMark)], "") + " " + cutMark
		}
	}
	return strings.TrimPrefix(text.String(), " ")
}

func quoted(text string) string {
	long := len(text) > maxExcerpt
	q := strconv.Quote(text[:min(len(text), maxExcerpt)])
	if long || q != `"`+text+`"` || strings.ContainsAny(text, " ="+cutMark) {
		return q
	}
	return text
}

// ParseExcerpt reads the fields of a quarantined entry. Whole tells whether none of them was cut.
func ParseExcerpt(text string) (fields map[string]string, whole bool) {
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
