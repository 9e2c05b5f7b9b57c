package command

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/operate/backfill"
	"github.com/fanfold/fanfold/report"
)

// TestBackfillOnATerminal is one bar. Failures, and why jobs wait, are lines above it.
func TestBackfillOnATerminal(t *testing.T) {
	t.Parallel()
	terminal, other := pseudoTerminal(t)
	var runs []*backfill.Run
	for _, day := range []string{"2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"} {
		runs = append(runs, &backfill.Run{Period: backfill.Period{First: day, Last: day}})
	}
	runs[0].Exists, runs[0].Job = true, inspect.Job{ID: "1", Status: report.Success}
	p := newProgress(runs, screen.New(terminal), "table", false)
	read := make(chan string)
	go func() {
		var all strings.Builder
		b := make([]byte, 4096)
		for !strings.Contains(all.String(), "1 failed, 1 left, ETA") {
			n, err := other.Read(b)
			if all.Write(b[:n]); err != nil {
				break
			}
		}
		read <- all.String()
	}()
	for _, id := range []string{"2", "3"} {
		r := runs[id[0]-'1']
		r.Job.ID = id
		if err := p.Began(r, "was created"); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range []inspect.Job{
		{ID: "2", Status: report.Pending, Waits: "its report is paused", Waiting: "paused"},
		{ID: "3", Status: report.Failed, Error: "no\x1b[2J table"},
	} {
		if err := p.Show(v); err != nil {
			t.Fatal(err)
		}
	}
	p.close()
	text := <-read
	for _, part := range []string{"2024-01-02: record 2: its report is paused", "2024-01-03: record 3 FAILED: no", "4 periods", "[==========..........]"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
	if strings.Contains(text, "no\x1b[2J") || strings.Contains(text, "was created") {
		t.Errorf("%q", text)
	}
}
