package inspect

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// ago returns the time before an age.
func ago(age time.Duration) *time.Time {
	at := time.Now().Add(-age).Truncate(time.Millisecond)
	return &at
}

const (
	// newest is how many events of a partition are read to find the durations of ended jobs.
	newest = 1000
	// few is the page size for one job, whose end is usually among the first events.
	few = 100
	// skew is the maximum by which the clock of Redis may be ahead of the database's.
	skew = time.Minute
)

// Times sets Started and Duration of jobs if they are known and Get has not set them: for running jobs
// from their state, for ended jobs from the newest events. It takes two round trips per partition for
// any number of jobs. For one job it reads the events before its end, a few at a time.
func (j Jobs) Times(ctx context.Context, jobs ...*Job) error {
	running, ended := map[*scripts.Scripts][]*Job{}, map[*scripts.Scripts]map[string]*Job{}
	for _, v := range jobs {
		switch s := j.o.Scripts.Of(v.ID); {
		case v.Attempt == 0, v.Status.Final() && (v.Ended == nil || v.Started != nil): // its history has them
		case !v.Status.Final():
			running[s] = append(running[s], v)
		case ended[s] == nil:
			ended[s] = map[string]*Job{v.ID: v}
		default:
			ended[s][v.ID] = v
		}
	}
	for s, list := range running {
		page := make([]scripts.Member, len(list))
		for i, v := range list {
			page[i].Name = v.ID
		}
		found, err := j.running(ctx, s, page)
		if err != nil {
			return err
		}
		for i, r := range found {
			if v := list[i]; r.Attempt == v.Attempt && !r.Started.IsZero() {
				ms := max(0, time.Since(r.Started).Milliseconds())
				v.Started, v.Duration = &r.Started, &ms
			}
		}
	}
	for s, byID := range ended {
		if err := ends(ctx, s, byID); err != nil {
			return fmt.Errorf("events: %w", err)
		}
	}
	return nil
}

// ends sets the times of ended jobs from the events of a partition.
func ends(ctx context.Context, s *scripts.Scripts, byID map[string]*Job) error {
	before, page := "", int64(newest)
	if len(byID) == 1 {
		for _, v := range byID {
			before, page = strconv.FormatInt(v.Ended.Add(skew).UnixMilli(), 10), few
		}
	}
	for read := int64(0); read < newest && len(byID) > 0; read += page {
		events, err := s.Entries.Newest(ctx, s.Keys.Events, "", before, page)
		if err != nil {
			return err
		}
		for _, e := range events {
			before = e.ID
			v := byID[e.Fields["id"]]
			if v == nil || e.Fields["event"] != "finished" || e.Fields["attempt"] != strconv.FormatInt(v.Attempt, 10) {
				continue
			}
			delete(byID, v.ID) // the newest one counts
			if ms, err := strconv.ParseInt(e.Fields["ms"], 10, 64); err == nil {
				started := v.Ended.Add(-time.Duration(ms) * time.Millisecond)
				v.Started, v.Duration = &started, &ms
			}
		}
		if int64(len(events)) < page {
			return nil
		}
	}
	return nil
}
