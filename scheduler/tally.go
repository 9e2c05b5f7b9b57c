package scheduler

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/tally"
)

// maxSums is how many counters a call of the script may change until it gets no further page of events: the cost of
// the script is theirs.
const maxSums = 1000

// counter counts what the events of jobs tell.
type counter struct{ *base }

// once adds the new events to the counters, and new versions among the processes. One process does so at a time. The
// lock only saves work: if it ends too early, the script counts the events of the first process.
func (s *counter) once(ctx context.Context) (time.Duration, error) {
	if ok, err := s.scripts.TryLock(ctx, "tally", s.pace.tally); !ok {
		return s.pace.tally, err
	}
	for more := true; more; {
		from, err := s.scripts.Tally.Cursor(ctx)
		if err != nil {
			return 0, err
		}
		if more, err = s.count(ctx, from); err != nil {
			return 0, err
		}
	}
	return s.pace.tally, nil
}

// count counts events after a cursor, and tells whether there are more.
func (s *counter) count(ctx context.Context, from scripts.TallyCursor) (more bool, err error) {
	to, sums := from, tally.Sums{}
	if to.Entry == "" {
		to.Entry = "0-0"
	}
	if to.Versions, err = s.versions(ctx, from.Versions); err != nil {
		return false, err
	}
	for _, version := range to.Versions {
		if !slices.Contains(from.Versions, version) {
			sums.Deploy(time.Now(), version)
		}
	}
	for more = true; more && sums.Len() < maxSums; {
		var page []scripts.Entry
		page, more, err = s.scripts.Entries.After(ctx, s.scripts.Keys.Events, to.Entry)
		if err != nil {
			return false, err
		}
		for _, e := range page {
			to.Entry = e.ID
			sums.Event(scripts.EntryTime(e.ID), e.Fields)
		}
	}
	if to.String() == from.String() {
		return false, nil
	}
	_, err = s.scripts.Tally.Count(ctx, from, to, sums)
	return more, err
}

// versions returns the versions of the processes that run; those from before if none is known.
func (s *counter) versions(ctx context.Context, before []string) (all []string, err error) {
	processes, err := s.scripts.Definitions.Processes(ctx)
	for _, p := range processes {
		all = append(all, strings.Fields(report.VersionOf(p))...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		all = before
	}
	return all, err
}
