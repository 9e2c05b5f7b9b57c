package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
)

// deadJob is an entry of the list of dead jobs, with what its record says now.
type deadJob struct {
	ID      string        `json:"id"`
	When    time.Time     `json:"when"`
	Status  engine.Status `json:"status,omitempty"`
	Report  string        `json:"report,omitempty"`
	Attempt int64         `json:"attempt,omitempty"`
	Error   string        `json:"error,omitempty"`
	Note    string        `json:"note,omitempty"` // why it is dead no longer
}

// deadFilter says which dead jobs are meant.
type deadFilter struct {
	match  string // a glob for the report or the reason
	report string
}

func (d deadFilter) compile() (func(deadJob) bool, error) {
	matches, err := glob("match", d.match)
	if err != nil {
		return nil, err
	}
	return func(j deadJob) bool {
		return (d.report == "" || j.Report == d.report) && (matches(j.Report) || matches(j.Error))
	}, nil
}

// dead iterates over the dead jobs, a page at a time, with their records. Newest
// first, or oldest first; then only those that were dead before it began, so that
// a job that fails again does not come again. Remaining is how many of the last
// page are still listed: the next page begins behind them.
func (b *backend) dead(ctx context.Context, newest bool, remaining func(page []deadJob) int) iter.Seq2[[]deadJob, error] {
	return func(yield func([]deadJob, error) bool) {
		now, err := b.redis.Time(ctx).Result()
		if err != nil {
			yield(nil, err)
			return
		}
		args := redis.ZRangeArgs{
			Key: b.scripts.Dead(), ByScore: true, Rev: newest, Count: scanPage,
			Start: "-inf", Stop: strconv.FormatInt(now.UnixMilli(), 10),
		}
		if newest {
			args.Start, args.Stop = args.Stop, args.Start // as ZRANGE … REV wants it
		}
		for {
			entries, err := b.redis.ZRangeArgsWithScores(ctx, args).Result()
			if err != nil || len(entries) == 0 {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			page, err := b.deadPage(ctx, entries)
			if !yield(page, err) || err != nil || len(entries) < scanPage {
				return
			}
			args.Offset += int64(remaining(page))
		}
	}
}

func (b *backend) deadPage(ctx context.Context, entries []redis.Z) ([]deadJob, error) {
	ids := make([]string, len(entries))
	for i, z := range entries {
		ids[i], _ = z.Member.(string)
	}
	records, err := b.records.Read(ctx, ids)
	if err != nil {
		return nil, err
	}
	page := make([]deadJob, len(entries))
	for i, z := range entries {
		j := deadJob{ID: ids[i], When: time.UnixMilli(int64(min(max(z.Score, 0), math.MaxInt32*1e3)))}
		r, ok := records[j.ID]
		switch {
		case !ok || r.ID != j.ID:
			j.Note = "the record is gone"
		case r.Status != engine.Failed:
			j.Note = fmt.Sprintf("the record is %s", r.Status)
			fallthrough
		default:
			j.Status, j.Report, j.Attempt, j.Error = r.Status, r.Report, r.Attempt, r.Error
		}
		page[i] = j
	}
	return page, nil
}

// all is for walks that remove nothing.
func all(page []deadJob) int { return len(page) }
