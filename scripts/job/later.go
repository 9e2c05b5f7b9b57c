package job

import (
	"errors"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Steps of a job that are no listener.
const (
	StepTrigger = "@trigger" // read the record once more
	StepFanIn   = "@fanin"
	StepRecord  = "@record" // fan-in, where only the record is left to be done
)

// Later is a member of the delayed set: an id alone, or a step of an attempt
// that is retried. For StepTrigger, Attempt counts how often the record
// has been read.
type Later struct {
	ID      string
	Attempt int64
	Step    string // empty: the id alone
}

// ErrMember is returned for an invalid member of the delayed set.
var ErrMember = errors.New("neither <id> nor <id>/<attempt>/<step>")

// String gives the member.
func (l Later) String() string {
	if l.Step == "" {
		return l.ID
	}
	return l.ID + "/" + strconv.FormatInt(l.Attempt, 10) + "/" + l.Step
}

func validStep(step string) bool {
	switch step {
	case StepTrigger, StepFanIn, StepRecord:
		return true
	}
	return report.ValidListener(step)
}

// ParseLater reads a member of the delayed set.
func ParseLater(member string) (Later, error) {
	parts := strings.Split(member, "/")
	l := Later{ID: parts[0]}
	if !report.ValidID(l.ID) || len(parts) != 1 && len(parts) != 3 {
		return l, ErrMember
	}
	if len(parts) == 3 {
		attempt, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil || attempt < 0 || !validStep(parts[2]) {
			return l, ErrMember
		}
		l.Attempt, l.Step = attempt, parts[2]
	}
	return l, nil
}
