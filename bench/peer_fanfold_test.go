package main

import "testing"

// TestBenchReport: its configuration is valid.
func TestBenchReport(t *testing.T) {
	t.Parallel()
	r, err := benchReport(8)
	if err != nil || len(r.Stages) != 1 || len(r.Stages[0].Listeners) != 8 {
		t.Errorf("%+v %v", r, err)
	}
}
