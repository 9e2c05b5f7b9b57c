package report

import (
	"testing"
	"time"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	exponential := Retry{Retries: 6, Delay: time.Second, Exponential: true, MaxDelay: 10 * time.Second}
	for _, c := range []struct {
		retry Retry
		delay []time.Duration
		total time.Duration
	}{
		{DefaultRetry, []time.Duration{time.Minute, time.Minute}, 6 * time.Minute},
		{exponential, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}, 35 * time.Second},
		{Retry{}, nil, 0},
	} {
		for i, want := range c.delay {
			if got := c.retry.Longest(i + 1); got != want {
				t.Errorf("%+v: delay %d is %v, not %v", c.retry, i+1, got, want)
			}
			for range 100 {
				got := c.retry.Before(i + 1)
				if got > want || got < want/2 || !c.retry.Exponential && got != want {
					t.Errorf("%+v: delay %d came out as %v", c.retry, i+1, got)
				}
			}
		}
		if got := c.retry.Total(); got != c.total {
			t.Errorf("%+v: total %v, not %v", c.retry, got, c.total)
		}
	}
}
