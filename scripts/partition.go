package scripts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Partitions are the Scripts of all partitions, in their order.
type Partitions []*Scripts

// Of returns the partition that an id or the name of a timer belongs to.
func (p Partitions) Of(id string) *Scripts { return p[report.Partition(id, len(p))] }

// OfTimer returns the partition that a timer belongs to: that of its name, or of a schedule the first one.
func (p Partitions) OfTimer(name string) *Scripts {
	if report.IsSchedule(name) {
		return p.First()
	}
	return p.Of(name)
}

// First returns the first partition, which also has what all partitions share.
func (p Partitions) First() *Scripts { return p[0] }

// Type returns the type that a key must have, as Keys.Type does.
func (p Partitions) Type(key string) string {
	for _, s := range p {
		if is := s.Keys.Type(key); is != "" {
			return is
		}
	}
	return ""
}

// Paused returns what is paused in any of the partitions, with the earliest time.
func (p Partitions) Paused(ctx context.Context) (Pauses, error) {
	all := Pauses{}
	err := p.each(func(s *Scripts) error {
		found, err := s.Gate.Paused(ctx)
		for what, since := range found {
			if first, ok := all[what]; !ok || since.Before(first) {
				all[what] = since
			}
		}
		return err
	})
	return all, err
}

// Pause pauses a member in all partitions in which it is not paused already, and returns since when
// it is. The error names the partitions that cannot be reached; Pause may be called again.
func (p Partitions) Pause(ctx context.Context, member string) (since time.Time, err error) {
	err = p.each(func(s *Scripts) error {
		at, err := s.Gate.pause(ctx, member)
		if err == nil && (since.IsZero() || at.Before(since)) {
			since = at
		}
		return err
	})
	return since, err
}

// ResumeListener lets workers read a listener's streams again. First it moves the deadlines of
// the jobs that wait for the listener, if their reports want that. It tells whether the
// listener was paused. The error names the partitions that cannot be
// reached; ResumeListener may be called again.
func (p Partitions) ResumeListener(ctx context.Context, name string) (was bool, err error) {
	err = p.each(func(s *Scripts) error {
		found, err := s.Gate.Paused(ctx)
		if _, ok := found[PausedListener(name)]; !ok {
			return err
		}
		was = true
		if err := s.Gate.extendAll(ctx, found); err != nil {
			return err
		}
		return s.Gate.unpause(ctx, PausedListener(name))
	})
	return was, err
}

// ResumeReport lets the records of a report start again, those that wait first. It tells
// whether the report was paused, and how many records have waited. The error names the
// partitions that cannot be reached; ResumeReport may be called again. The engines release the records of
// a report that is limited, as many as may run.
func (p Partitions) ResumeReport(ctx context.Context, name string, limited bool) (was bool, released int, err error) {
	err = p.each(func(s *Scripts) error {
		found, err := s.Gate.Paused(ctx)
		if err != nil {
			return err
		}
		if _, ok := found[PausedReport(name)]; ok {
			was = true
		}
		if err := s.Gate.unpause(ctx, PausedReport(name)); err != nil {
			return err
		}
		if limited {
			return nil
		}
		n, err := s.Gate.ReleaseAll(ctx, name)
		released += n
		return err
	})
	return was, released, err
}

// each calls do for every partition. Its error names the partitions in which that failed.
func (p Partitions) each(do func(s *Scripts) error) error {
	var failed error
	for i, s := range p {
		err := do(s)
		if err != nil && len(p) > 1 {
			err = fmt.Errorf("partition %d: %w", i, err)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
