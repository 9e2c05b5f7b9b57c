package inspect

import (
	"math"
	"testing"
	"time"
)

// TestWhen: a time that another program wrote may be any.
func TestWhen(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for at, want := range map[time.Time]string{
		now.Add(5 * time.Second):      "in 5s",
		now.Add(-5 * time.Second):     "5s ago",
		now.Add(time.Hour):            "in 1h0m0s",
		time.UnixMilli(math.MaxInt64): "in more than 10 years",
		{}:                            "more than 10 years ago",
	} {
		if got := When(at, now); got != want {
			t.Errorf("%v: %s, not %s", at, got, want)
		}
	}
}
