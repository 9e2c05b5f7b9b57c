package command

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// TestEndedJobsSayWhatTheyDid: status and why of an ended job have the times of its steps, also from the manifest of
// its file.
func TestEndedJobsSayWhatTheyDid(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.Serve(s.File)
	id := s.Records.Insert("slow", `{"seconds": "0.1"}`)
	s.Jobs.Push(id)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Success {
		t.Fatalf("%+v", v)
	}
	for range 2 {
		out, code := s.fanfold("why", id)
		_, steps, _ := strings.Cut(out, "What its steps did:\n")
		if code != exitOK || !strings.Contains(steps, "  one: waited ") || !strings.Contains(steps, "  fan-in: waited ") {
			t.Errorf("%d %s", code, out)
		}
		if out, _ := s.fanfold("status", id); !strings.Contains(out, "done, 1 row, try 1, waited ") {
			t.Error(out)
		}
		s.Records.Exec("DELETE FROM fanfold_history")
	}
}
