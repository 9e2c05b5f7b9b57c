package report

import (
	"testing"
	"time"
)

func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	stage := func(listeners ...Listener) Stage { return Stage{Listeners: listeners} }
	minutes := func(n time.Duration, retry Retry) Listener { return Listener{Timeout: n * time.Minute, Retry: retry} }
	twice := Retry{Retries: 2, Delay: time.Minute, Exponential: true, MaxDelay: time.Hour}
	const longest = 30 * 24 * time.Hour
	most := Retry{Retries: 100, Delay: longest}
	var long []Stage
	for range 1000 {
		long = append(long, stage(Listener{Timeout: longest, Retry: most}))
	}
	for _, c := range []struct {
		name   string
		report Report
		want   time.Duration
	}{
		{"no stage", Report{}, foldTime},
		{"one try", Report{Stages: []Stage{stage(minutes(5, Retry{}))}}, 15 * time.Minute},
		{"the defaults", Report{Retry: DefaultRetry, Stages: []Stage{stage(minutes(5, DefaultRetry))}}, (5*7 + 6 + 10 + 6) * time.Minute},
		{"the longest with its retries", Report{Stages: []Stage{stage(minutes(5, Retry{}), minutes(2, twice), minutes(6, Retry{}))}}, (2*3 + 1 + 2 + 10) * time.Minute},
		{"stages add up", Report{Retry: twice, Stages: []Stage{stage(minutes(5, twice)), stage(minutes(1, DefaultRetry))}}, (15 + 3 + 7 + 6 + 10 + 3) * time.Minute},
		{"a sum that no duration holds", Report{Stages: long}, Forever},
	} {
		if got := c.report.DefaultTimeout(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
