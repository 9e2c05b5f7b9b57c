package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// ended reads a tombstone: attempt, outcome, report/definition/digest, what the listeners gave
// (see Summary), and the file or the reason.
func (p *parser) ended(text string, state *State) {
	words := strings.SplitN(text, " ", 5)
	if len(words) != 5 {
		p.err = fmt.Errorf("its end is %.100q", text)
		return
	}
	state.Attempt, state.Status = p.parse("ended", words[0]), words[1]
	state.Report, state.Definition = SplitOf(words[2])
	for part := range strings.SplitSeq(words[3], ",") {
		if parts := strings.Split(part, ":"); len(parts) == 3 {
			t := TaskState{Ends: -1, Done: parts[1] != ""}
			t.Tries = p.parse("ended", parts[2])
			if parts[1] == "-" {
				t.Policy = "omitted"
			} else if t.Done {
				t.Rows = p.parse("ended", parts[1])
			}
			state.Tasks[parts[0]] = t
		}
	}
	if report.Status(state.Status).HasFile() {
		state.File = words[4]
	} else {
		state.Reason = words[4]
	}
}

// Summary says what the listeners of a job gave, for people who read it right after its end:
// listener:rows:tries, with commas; rows are - if the job went on without the listener, and
// empty if it was not done.
func (s *State) Summary() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Tasks)) {
		t := s.Tasks[name]
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name)
		switch {
		case t.Policy != "":
			b.WriteString(":-:")
		case t.Done:
			b.WriteByte(':')
			b.WriteString(strconv.FormatInt(t.Rows, 10))
			b.WriteByte(':')
		default:
			b.WriteString("::")
		}
		b.WriteString(strconv.FormatInt(t.Tries, 10))
	}
	if b.Len() == 0 {
		return "-"
	}
	return b.String()
}
