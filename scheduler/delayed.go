package scheduler

import (
	"context"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// moveDue moves what is due in the delayed set to the streams where it belongs,
// and returns how long it is until the next one.
func (s *Scheduler) moveDue(ctx context.Context) (time.Duration, error) {
	members, wait, err := s.scripts.Due(ctx, most)
	if err != nil {
		return 0, err
	}
	streams := map[string][]scripts.Move{}
	for _, member := range members {
		later, err := scripts.ParseLater(member)
		if err != nil {
			if err := s.refuse(ctx, member, err); err != nil {
				return 0, err
			}
			continue
		}
		stream, move := s.target(member, later)
		streams[stream] = append(streams[stream], move)
	}
	for stream, moves := range streams {
		if _, err := s.scripts.Move(ctx, stream, moves); err != nil {
			return 0, err
		}
	}
	switch {
	case len(members) > 0:
		return 0, nil // more may be due by now
	case wait < 0:
		return pause, nil
	}
	return wait, nil
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

// refuse puts a member aside that means nothing.
func (s *Scheduler) refuse(ctx context.Context, member string, why error) error {
	s.log.Warn("quarantined", "key", s.scripts.Delayed(), "why", why)
	if err := s.scripts.Quarantine(ctx, s.scripts.Delayed(), "", map[string]string{"member": member}, why.Error()); err != nil {
		return err
	}
	return s.scripts.Undelay(ctx, member)
}
