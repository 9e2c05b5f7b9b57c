package scripts

import (
	"context"

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

// ResumeListener lets workers read a listener's streams again. First it moves the deadlines of
// the jobs that wait for the listener, if their reports want that. It tells whether the
// listener was paused; after an error it may be called again.
func (p Partitions) ResumeListener(ctx context.Context, name string) (bool, error) {
	found, err := p.Home().Gate.Paused(ctx)
	if err != nil {
		return false, err
	}
	if _, ok := found[PausedListener(name)]; !ok {
		return false, nil
	}
	for _, s := range p {
		if err := s.Gate.extendAll(ctx, found); err != nil {
			return false, err
		}
	}
	return p.Home().Gate.unpause(ctx, PausedListener(name))
}

// ResumeReport lets the records of a report start again, those that wait first. It tells
// whether the report was paused, and how many records have waited.
func (p Partitions) ResumeReport(ctx context.Context, name string) (was bool, released int, err error) {
	if was, err = p.Home().Gate.unpause(ctx, PausedReport(name)); err != nil {
		return false, 0, err
	}
	for _, s := range p {
		n, err := s.Gate.Release(ctx, name)
		if released += n; err != nil {
			return was, released, err
		}
	}
	return was, released, nil
}
