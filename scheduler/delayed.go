package scheduler

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// moveDue moves what is due in the delayed set to the streams where it belongs,
// and returns how long it is until the next one.
func (s *Scheduler) moveDue(ctx context.Context) (time.Duration, error) {
	due, err := s.scripts.Due(ctx, most)
	if err != nil {
		return 0, err
	}
	var refused []scripts.Refusal
	for _, member := range due.Timeless {
		refused = append(refused, scripts.Refusal{Member: member, Reason: "its score is not a time"})
	}
	// What cannot be put aside must not keep the others from moving.
	failed := s.refuse(ctx, refused, true)
	refused = nil
	streams := map[string][]scripts.Move{}
	for _, member := range due.Members {
		later, err := scripts.ParseLater(member)
		if err != nil {
			refused = append(refused, scripts.Refusal{Member: member, Reason: err.Error()})
			continue
		}
		stream, move := s.target(member, later)
		streams[stream] = append(streams[stream], move)
	}
	failed = errors.Join(failed, s.refuse(ctx, refused, false))
	for stream, moves := range streams {
		// A stream that takes nothing must not keep the others from it.
		late, err := s.scripts.Move(ctx, stream, moves)
		failed = errors.Join(failed, err)
		s.metrics.moved(late)
	}
	switch {
	case failed != nil:
		return 0, failed
	case len(due.Members)+len(due.Timeless) > 0:
		return 0, nil // more may be due by now
	case due.Wait < 0:
		return pause, nil
	}
	return due.Wait, nil
}

// target says to which stream a member goes, and as what.
func (s *Scheduler) target(member string, l scripts.Later) (stream string, move scripts.Move) {
	n := strconv.FormatInt(l.Attempt, 10)
	switch l.Step {
	case "":
		return s.scripts.Jobs(), scripts.Move{Member: member, ID: l.ID}
	case scripts.StepTrigger:
		return s.scripts.Jobs(), scripts.Move{Member: member, ID: l.ID, Field: "look", Value: n}
	case scripts.StepFanIn, scripts.StepRecord:
		return s.scripts.FanIn(), scripts.Move{Member: member, ID: l.ID, Field: "attempt", Value: n}
	default:
		return s.scripts.Task(l.Step), scripts.Move{Member: member, ID: l.ID, Field: "attempt", Value: n}
	}
}

// refuse puts members aside that mean nothing.
func (s *Scheduler) refuse(ctx context.Context, refused []scripts.Refusal, timeless bool) error {
	if len(refused) == 0 {
		return nil
	}
	n, err := s.scripts.Refuse(ctx, refused, timeless)
	if n > 0 {
		s.log.Warn("quarantined", "key", s.scripts.Delayed(), "members", n, "why", refused[0].Reason)
	}
	return err
}
