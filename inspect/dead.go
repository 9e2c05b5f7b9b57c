package inspect

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// DeadList is the list of failed jobs that were neither retried nor discarded.
type DeadList struct{ o *Options }

// DeadJob is an entry of the list of dead jobs, with the current values of its record.
type DeadJob struct {
	ID      string        `json:"id"`
	When    time.Time     `json:"when"`
	Status  report.Status `json:"status,omitempty"`
	Report  string        `json:"report,omitempty"`
	Attempt int64         `json:"attempt,omitempty"`
	Error   string        `json:"error,omitempty"`
	Note    string        `json:"note,omitempty"` // why it is no longer dead
}

// Pages iterates over the dead jobs and their records, page by page, the newest or the oldest
// first. Oldest first, it leaves out jobs that fail after it began, so that no job appears twice.
// The function remaining returns how many jobs of a page are still listed: the next page begins
// after them.
func (d DeadList) Pages(ctx context.Context, newest bool,
	remaining func(page []DeadJob) int) iter.Seq2[[]DeadJob, error] {
	return func(yield func([]DeadJob, error) bool) {
		now, err := d.o.Scripts.First().Now(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, s := range d.o.Scripts {
			for page, err := range d.pages(ctx, s, now, newest, remaining) {
				if !yield(page, err) || err != nil {
					return
				}
			}
		}
	}
}

// pages is Pages for one partition.
func (d DeadList) pages(ctx context.Context, s *scripts.Scripts, now time.Time, newest bool,
	remaining func(page []DeadJob) int) iter.Seq2[[]DeadJob, error] {
	return func(yield func([]DeadJob, error) bool) {
		for offset := 0; ; {
			members, full, err := s.Sets.Until(ctx, s.Keys.Dead, now, newest, offset)
			if err == nil && len(members) == 0 {
				return
			}
			var page []DeadJob
			if err == nil {
				page, err = deadPage(ctx, d.o.Records, members)
			}
			if !yield(page, err) || err != nil || !full {
				return
			}
			offset += remaining(page)
		}
	}
}

func deadPage(ctx context.Context, store *record.Store, members []scripts.Member) ([]DeadJob, error) {
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.Name
	}
	records, err := store.Read(ctx, ids)
	if err != nil {
		return nil, err
	}
	page := make([]DeadJob, len(members))
	for i, m := range members {
		j := DeadJob{ID: ids[i], When: time.UnixMilli(int64(min(max(m.Score, 0), math.MaxInt32*1e3)))}
		r, ok := records[j.ID]
		switch {
		case !ok || r.ID != j.ID:
			j.Note = "the record was deleted"
		case r.Status != report.Failed:
			j.Note = fmt.Sprintf("the record is %s", r.Status)
			fallthrough
		default:
			j.Status, j.Report, j.Attempt, j.Error = r.Status, r.Report, r.Attempt, r.Error
		}
		page[i] = j
	}
	return page, nil
}

// all is the function remaining of iterations that remove nothing.
func all(page []DeadJob) int { return len(page) }

// List lists the dead jobs that match, the newest first, up to a limit (0: all).
func (d DeadList) List(ctx context.Context, match func(DeadJob) bool, limit int) ([]DeadJob, error) {
	now, err := d.o.Scripts.First().Now(ctx)
	if err != nil {
		return nil, err
	}
	newest := func(a, b DeadJob) int { return b.When.Compare(a.When) }
	return everywhere(d.o, limit, newest, func(s *scripts.Scripts) ([]DeadJob, error) {
		return collect(d.pages(ctx, s, now, true, all), match, limit)
	})
}
