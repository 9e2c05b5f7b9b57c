package words

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
		now.Add(time.Hour):            "in 1h",
		time.UnixMilli(math.MaxInt64): "in more than 10 years",
		{}:                            "more than 10 years ago",
	} {
		if got := When(at, now); got != want {
			t.Errorf("%v: %s, not %s", at, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", -time.Second: "0s", 40 * time.Millisecond: "40ms", 1540 * time.Millisecond: "1.5s", 12400 * time.Millisecond: "12s",
		2 * time.Minute: "2m", 3*time.Minute + 29*time.Second: "3m29s", 10*time.Minute + 31*time.Second: "11m",
		20 * time.Minute: "20m", 2 * time.Hour: "2h", 125 * time.Minute: "2h5m", 100 * time.Hour: "100h", math.MaxInt64: "more than 10 years",
	} {
		if got := Short(d); got != want {
			t.Errorf("%s: %q, not %q", d, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 41_000: "41,000", 1_234_567: "1,234,567", -1234: "-1,234", -123: "-123",
	} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %q, not %q", n, got, want)
		}
	}
	for _, c := range [][2]string{
		{Count(1, "job"), "1 job"}, {Count(2, "job"), "2 jobs"}, {Count(2, "entry"), "2 entries"}, {Count(0, "entry"), "0 entries"},
		{Count(41_000, "job"), "41,000 jobs"}, {Count(int64(1), "row"), "1 row"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, not %q", c[0], c[1])
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1,023 B", 1024: "1.0 KB", 3 << 20: "3.0 MB", 1 << 40: "1.0 TB", 1 << 50: "1024.0 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, not %q", n, got, want)
		}
	}
}
