package scheduler

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// mover moves due members of the delayed set to their streams.
type mover struct {
	*base
	bell step.Bell
}

// once moves due members of the delayed set to their streams, and returns the time until the
// next one. Members that cannot be moved do not count: the loop retries them every second.
func (s *mover) once(ctx context.Context) (time.Duration, error) {
	var failed error
	moved := 0
	broken := map[string]bool{} // streams that cannot be appended to
	for stuck := 0; ; {
		page := most
		if stuck > 0 {
			page = 10 * most // passing over them costs as much as reading them
		}
		due, err := s.scripts.Clock.Due(ctx, page, stuck)
		if err != nil {
			return 0, err
		}
		left, err := s.move(ctx, due, broken)
		if failed == nil {
			failed = err
		}
		stuck += left
		moved += len(due.Members) - left
		switch {
		case failed != nil && len(due.Members) >= page:
			continue // members that are stuck hide the ones after them
		case failed == nil && moved+len(due.Invalid) > 0:
			return 0, nil // more may be due by now
		case due.Wait < 0:
			return pause, failed
		}
		return due.Wait, failed
	}
}

// move moves members, and returns how many due ones remain. A member that cannot be moved does not
// block others.
func (s *mover) move(ctx context.Context, due scripts.Due, broken map[string]bool) (left int, failed error) {
	var senseless []scripts.Refusal
	streams, listeners := map[string][]scripts.Move{}, map[string]string{}
	for _, member := range due.Members {
		later, err := job.ParseLater(member)
		if err != nil {
			senseless = append(senseless, scripts.Refusal{Member: member, Reason: err.Error()})
			continue
		}
		stream, listener, move := s.target(member, later)
		streams[stream], listeners[stream] = append(streams[stream], move), listener
	}
	failed = s.refuse(ctx, due.Invalid, true)
	for _, stream := range slices.Sorted(maps.Keys(streams)) {
		moves := streams[stream]
		if broken[stream] {
			left += len(moves)
			continue
		}
		late, unknown, err := s.scripts.Clock.Move(ctx, stream, listeners[stream], moves)
		s.metrics.moved(late)
		senseless = append(senseless, unknown...)
		if err != nil {
			broken[stream] = true
			left, failed = left+len(moves), err
		}
	}
	if err := s.refuse(ctx, senseless, false); err != nil {
		left, failed = left+len(senseless), err
	}
	return left, failed
}

// target returns the stream of a member, the listener if it is a listener's stream, and the entry
// to append.
func (s *mover) target(member string, l job.Later) (stream, listener string, move scripts.Move) {
	n := strconv.FormatInt(l.Attempt, 10)
	switch l.Step {
	case "":
		return s.scripts.Keys.Jobs, "", scripts.Move{Member: member, ID: l.ID}
	case job.StepTrigger:
		return s.scripts.Keys.Jobs, "", scripts.Move{Member: member, ID: l.ID, Field: "polls", Value: n}
	case job.StepFanIn, job.StepRecord:
		return s.scripts.Keys.FanIn, "", scripts.Move{Member: member, ID: l.ID, Field: "attempt", Value: n}
	default:
		return s.scripts.Keys.Task(l.Step), l.Step, scripts.Move{Member: member, ID: l.ID, Field: "attempt", Value: n}
	}
}

// refuse quarantines unusable members.
func (s *mover) refuse(ctx context.Context, refused []scripts.Refusal, invalid bool) error {
	if len(refused) == 0 {
		return nil
	}
	n, err := s.scripts.Clock.Refuse(ctx, refused, invalid)
	if n > 0 {
		s.log.Warn("quarantined members of the delayed set", "key", s.scripts.Keys.Delayed, "members", n,
			"why", refused[0].Reason)
	}
	return err
}
