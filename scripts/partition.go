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

// Holds returns the holds of any of the partitions, of each the one that began first.
func (p Partitions) Holds(ctx context.Context) (Holds, error) {
	all := Holds{}
	err := p.each(func(s *Scripts) error {
		found, err := s.Gate.Holds(ctx)
		for what, one := range found {
			if first, ok := all[what]; !ok || one.Since.Before(first.Since) {
				all[what] = one
			}
		}
		return err
	})
	return all, err
}

// Hold sets a hold in all partitions, and returns since when it is there. One that exists gets the new limit, end,
// person and reason. The error names the partitions that cannot be reached; Hold may be called again.
func (p Partitions) Hold(ctx context.Context, member string, of Hold) (since time.Time, err error) {
	err = p.each(func(s *Scripts) error {
		at, err := s.Gate.hold(ctx, member, of)
		if err == nil && (since.IsZero() || at.Before(since)) {
			since = at
		}
		return err
	})
	return since, err
}

// Unhold ends a hold. If that is the pause of a source or a listener, it first moves the deadlines of the jobs that
// wait for it, if their reports want that. If it is the last hold of a report, it then pushes the records that wait;
// the engines do so for a report that is limited, as many as may run. It tells whether there was a hold, and how many
// records it pushed. The error names the partitions that cannot be reached; Unhold may be called again.
func (p Partitions) Unhold(ctx context.Context, member string, limited bool) (was bool, released int, err error) {
	err = p.each(func(s *Scripts) error {
		here, n, err := s.Gate.unhold(ctx, member, limited, false)
		was, released = was || here, released+n
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
