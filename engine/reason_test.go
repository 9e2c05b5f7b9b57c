package engine

import (
	"errors"
	"testing"
)

func TestReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"engine: no such record: 7":                                             "no such record: 7",
		"report: CSV output: report: file too large: more":                      "CSV output: file too large: more",
		"one\nrecord: still running: record 16 is PROCESSING":                   "one\nstill running: record 16 is PROCESSING",
		"record 7: report \"x\" is not in the configuration":                    "record 7: report \"x\" is not in the configuration",
		"commit file: sink: away":                                               "commit file: sink: away",
		"engine: record: both":                                                  "both",
		"sink: create file: sink: create simple/10-1.csv: sink: refused: mkdir": "sink: create file: create simple/10-1.csv: refused: mkdir",
		"make file: report: CSV output: sink: sink: write x: no space left":     "make file: CSV output: sink: write x: no space left",
		"myreport: x": "myreport: x",
	} {
		if got := Reason(errors.New(text)); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}
