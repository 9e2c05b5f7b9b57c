package engine

import (
	"errors"
	"testing"
)

func TestReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"engine: no such record: 7":                               "no such record: 7",
		"report: CSV output: report: file too large: it has more": "CSV output: file too large: it has more",
		"one\nrecord: still running: record 16 is PROCESSING":     "one\nstill running: record 16 is PROCESSING",
		"record 7: report \"x\" is not in the configuration":      "record 7: report \"x\" is not in the configuration",
		"commit file: sink: away":                                 "commit file: sink: away",
		"engine: record: both":                                    "both",
		"myreport: x":                                             "myreport: x",
	} {
		if got := Reason(errors.New(text)); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}
