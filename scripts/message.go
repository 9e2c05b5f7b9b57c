package scripts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
	"github.com/redis/go-redis/v9"
)

// Group is the consumer group of every stream that Fanfold reads.
const Group = "fanfold"

// QuarantineCap is about how many entries the quarantine keeps.
const QuarantineCap = 10_000

// quarantined is the max size of what is kept of a foreign entry, in bytes.
const quarantined = 1024

// Ack acknowledges entries of a stream and removes them, as one. It is the last act for a
// message: its effect must exist in Redis or MySQL before.
func (s Streams) Ack(ctx context.Context, stream string, entries ...string) error {
	if len(entries) == 0 {
		return nil
	}
	args := []any{Group}
	for _, e := range entries {
		args = append(args, e)
	}
	_, err := s.outcome(ctx, ackScript.call(ctx, []string{stream}, args...))
	return err
}

// Quarantine keeps an entry that cannot be used, with the reason; what is longer
// than 1 KB of it is cut.
func (s Streams) Quarantine(ctx context.Context, stream, entry string, fields map[string]string, reason string) error {
	c := redis.NewStringCmd(ctx, "xadd", s.Keys.Quarantined(), "maxlen", "~", QuarantineCap, "*",
		"stream", stream, "entry", entry, "reason", reason, "fields", excerpt(fields))
	if err := s.do(ctx, c); err != nil {
		return err
	}
	return asError("quarantine", c.Err())
}

// excerpt returns fields as a text of limited size.
func excerpt(fields map[string]string) string {
	var text strings.Builder
	for k, v := range fields {
		fmt.Fprintf(&text, "%s=%s ", k, v)
		if text.Len() > quarantined {
			break
		}
	}
	kept := strings.ToValidUTF8(text.String()[:min(text.Len(), quarantined)], "\uFFFD")
	return strings.TrimSpace(kept)
}

// Steps of a job that are no listener.
const (
	StepTrigger = "@trigger" // read the record once more
	StepFanIn   = "@fanin"
	StepRecord  = "@record" // fan-in, where only the record is left to be done
)

// Later is a member of the delayed set: an id alone, or a step of an attempt
// that is to be done again. For StepTrigger, Attempt counts how often the record
// has been read.
type Later struct {
	ID      string
	Attempt int64
	Step    string // empty: the id alone
}

// ErrMember is returned for a member of the delayed set that means nothing.
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
