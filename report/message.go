package report

import (
	"fmt"
	"strings"
	"time"
)

// Mistake is what is wrong with a value that a person wrote, and the remedy.
type Mistake struct{ Message, Remedy string }

// Error returns the message and the remedy.
func (m *Mistake) Error() string { return m.Message + ". " + m.Remedy }

// Shorten cuts a value to 80 characters for a message.
func Shorten(text string) string { return ShortenTo(text, 80) }

// ShortenTo returns valid UTF-8 of at most max characters. The last one is an ellipsis if the text is
// longer.
func ShortenTo(text string, max int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if max < 1 {
		return ""
	}
	if runes := []rune(text); len(runes) > max {
		return string(runes[:max-1]) + "…"
	}
	return text
}

// Listing returns names for a message, in order: the first 20, and the number of the rest.
func Listing(names []string) string {
	const max = 20
	if len(names) > max {
		return strings.Join(names[:max], ", ") + fmt.Sprintf(" and %d more", len(names)-max)
	}
	return strings.Join(names, ", ")
}

// ShortDuration writes 5m for 5m0s.
func ShortDuration(t time.Duration) string {
	text := t.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
