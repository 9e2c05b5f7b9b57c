package scripts

import (
	"context"
	"maps"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Partitions are the Scripts of all partitions, in their order.
type Partitions []*Scripts

// Of returns the partition that an id or the name of a timer belongs to.
func (p Partitions) Of(id string) *Scripts { return p[report.Partition(id, len(p))] }

// Home returns the partition that has what all of them share.
func (p Partitions) Home() *Scripts { return p[0] }

// Type returns the type that a key must have, as Keys.Type does.
func (p Partitions) Type(key string) string {
	for _, s := range p {
		if is := s.Keys.Type(key); is != "" {
			return is
		}
	}
	return ""
}

// Paused returns what is paused in any of the partitions.
func (p Partitions) Paused(ctx context.Context) (Pauses, error) {
	all := Pauses{}
	for _, s := range p {
		found, err := s.Gate.Paused(ctx)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}

// Pause pauses a member in all partitions, where it is not paused already, and returns since when
// it is. After an error it may be called again.
func (p Partitions) Pause(ctx context.Context, member string) (since time.Time, err error) {
	for _, s := range p {
		at, err := s.Gate.pause(ctx, member)
		if err != nil {
			return since, err
		}
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	return since, nil
}

// ResumeListener lets workers read a listener's streams again. First it moves the deadlines of
// the jobs that wait for the listener, if their reports want that. It tells whether the
// listener was paused; after an error it may be called again.
func (p Partitions) ResumeListener(ctx context.Context, name string) (was bool, err error) {
	for _, s := range p {
		found, err := s.Gate.Paused(ctx)
		if err != nil {
			return was, err
		}
		if _, ok := found[PausedListener(name)]; !ok {
			continue
		}
		was = true
		if err := s.Gate.extendAll(ctx, found); err != nil {
			return was, err
		}
		if err := s.Gate.unpause(ctx, PausedListener(name)); err != nil {
			return was, err
		}
	}
	return was, nil
}

// ResumeReport lets the records of a report start again, those that wait first. It tells
// whether the report was paused, and how many records have waited; after an error it may be called
// again.
func (p Partitions) ResumeReport(ctx context.Context, name string) (was bool, released int, err error) {
	found, err := p.Paused(ctx)
	if err != nil {
		return false, 0, err
	}
	_, was = found[PausedReport(name)]
	for _, s := range p {
		if err := s.Gate.unpause(ctx, PausedReport(name)); err != nil {
			return was, released, err
		}
		n, err := s.Gate.Release(ctx, name)
		if released += n; err != nil {
			return was, released, err
		}
	}
	return was, released, nil
}
