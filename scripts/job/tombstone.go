package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// ended reads a tombstone: attempt, outcome, report/definition/digest, the Summary of
// its tasks, and the file or the reason.
func (p *parser) ended(text string, state *State) {
	words := strings.SplitN(text, " ", 5)
	if len(words) != 5 {
		p.err = fmt.Errorf("its end is %.100q", text)
		return
	}
	state.Attempt, state.Status = p.parse("ended", words[0]), words[1]
	state.Report, state.Definition = SplitOf(words[2])
	state.Tasks = ParseSummary(words[3])
	if report.Status(state.Status).HasFile() {
		state.File = words[4]
	} else {
		state.Reason = words[4]
	}
}

// Summary says what the listeners of a job did, for people and programs that read it after the
// job's end: listener:rows:tries:ms, with commas. Rows are - if the job went on without the
// listener; rows and ms are empty if it was not done.
func (s *State) Summary() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Tasks)) {
		t, rows, ms := s.Tasks[name], "", ""
		switch {
		case t.Policy != "":
			rows = "-"
		case t.Done:
			rows, ms = strconv.FormatInt(t.Rows, 10), strconv.FormatInt(t.Took.Milliseconds(), 10)
		}
		all = append(all, name+":"+rows+":"+strconv.FormatInt(t.Tries, 10)+":"+ms)
	}
	return cmp.Or(strings.Join(all, ","), "-")
}

// ParseSummary returns the tasks of a Summary. It skips what is not in the form of one.
func ParseSummary(text string) map[string]TaskState {
	tasks := map[string]TaskState{}
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Split(part, ":")
		if len(words) != 4 {
			continue
		}
		t := TaskState{Total: -1, Done: words[1] != ""}
		p := parser{}
		t.Tries = p.parse("tries", words[2])
		if words[1] == "-" {
			t.Policy = "omitted"
		} else if t.Done {
			t.Rows, t.Took = p.parse("rows", words[1]), time.Duration(p.parse("ms", words[3]))*time.Millisecond
		}
		if p.err == nil {
			tasks[words[0]] = t
		}
	}
	return tasks
}
