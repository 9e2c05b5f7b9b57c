package dashboard

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/moment"
)

// TestSpanOfAQuestion: a question passes on every time that it accepts.
func TestSpanOfAQuestion(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, since := range []string{"1999-12-31 23:59", "0001-01-02 00:00", "1717234200123", "2h", "1000w"} {
		span, _, err := moment.ParseSpan(since, "", now, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := moment.ParseSpan(fieldOf(span.Since), "", now, time.Local)
		if err != nil || !again.Since.Equal(span.Since.Truncate(time.Millisecond)) {
			t.Errorf("%s: %s becomes %s, %v", since, fieldOf(span.Since), again.Since, err)
		}
	}
}
