package report

import (
	"strings"
	"testing"
	"time"
)

func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	stage := func(listeners ...Listener) Stage { return Stage{Listeners: listeners} }
	minutes := func(n time.Duration, retry Retry) Listener { return Listener{Timeout: n * time.Minute, Retry: retry} }
	twice := Retry{Retries: 2, Delay: time.Minute, Exponential: true, MaxDelay: time.Hour}
	most := Retry{Retries: mostRetries, Delay: longest}
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
		{"a sum that no duration holds", Report{Stages: long}, forever},
	} {
		if got := c.report.DefaultTimeout(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestShortestTimeout finds the line between a timeout that is taken and one
// that is refused.
func TestShortestTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		edits string
		ok    bool
	}{
		{"timeout: 82m", true},
		{"timeout: 81m59s999ms", false},
		{"timeout: 10m\n    retry: 0", true},
		{"timeout: 9m59s999ms\n    retry: 0", false},
		{"timeout: 20m3s\n    retry: {retries: 1, delay: 1500ms}", true},
		{"timeout: 20m2s\n    retry: {retries: 1, delay: 1500ms}", false},
		{"retry: {retries: 1, delay: 200h}", true},  // 200h for each stage and the fold
		{"retry: {retries: 1, delay: 240h}", false}, // a default above 720h
		{"timeout: 720h\n    retry: {retries: 1, delay: 240h}", true},
		{"retry: {retries: 1, delay: 360h}", false},
		{"timeout: 720h\n    retry: {retries: 1, delay: 360h}", false},
	} {
		config, err := Load("f.yaml", []byte(edit(t, base, "timeout: 2h", c.edits+"\n    strict_timeout: true")), testEnvironment())
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.edits, err)
		}
		if err == nil && config.Reports["orders"].Timeout > longest {
			t.Errorf("%s: a timeout of %v", c.edits, config.Reports["orders"].Timeout)
		}
		if !strings.HasPrefix(c.edits, "timeout") {
			continue
		}
		// Without strict_timeout it is a deadline, with a warning.
		config, err = Load("f.yaml", []byte(edit(t, base, "timeout: 2h", c.edits)), testEnvironment())
		if err != nil || (len(config.Warnings) == 0) != c.ok {
			t.Errorf("%s: %v", c.edits, err)
		} else if !c.ok && !strings.Contains(config.Warnings.Error(), "f.yaml:9:14: reports.orders.timeout: ") {
			t.Errorf("%s: %v", c.edits, config.Warnings)
		}
	}
}
