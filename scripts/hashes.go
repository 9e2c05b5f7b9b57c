package scripts

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Lines returns the lines that are the states of jobs, and their bytes in the spool. An empty line: there is none, or
// the key is of another type.
func (s Hashes) Lines(ctx context.Context, ids []string) (lines []string, spooled []int64, err error) {
	lines, spooled = make([]string, len(ids)), make([]int64, len(ids))
	for from := 0; from < len(ids); from += pageSize {
		page := ids[from:min(from+pageSize, len(ids))]
		cmds := make([]redis.Cmder, len(page))
		for i, id := range page {
			cmds[i] = redis.NewSliceCmd(ctx, "hmget", s.Keys.Job(id), "job", "spooled")
		}
		if err := s.do(ctx, cmds...); err != nil {
			return nil, nil, fmt.Errorf("states: %w", err)
		}
		for i, c := range cmds {
			if err := c.Err(); err != nil && !WrongType(err) {
				return nil, nil, fmt.Errorf("states: %w", err)
			}
			if values := c.(*redis.SliceCmd).Val(); len(values) == 2 {
				lines[from+i], _ = values[0].(string)
				bytes, _ := values[1].(string)
				spooled[from+i], _ = strconv.ParseInt(bytes, 10, 64)
			}
		}
	}
	return lines, spooled, nil
}

// Failed tells which steps are retried because a try failed. Others wait, such as for a slot, or were
// handed back.
func (s Hashes) Failed(ctx context.Context, steps []job.Later) ([]bool, error) {
	failed := make([]bool, len(steps))
	for from := 0; from < len(steps); from += pageSize {
		page := steps[from:min(from+pageSize, len(steps))]
		cmds := make([]redis.Cmder, len(page))
		for i, l := range page {
			step := l.Step
			if step == job.StepRecord {
				step = job.StepFanIn
			}
			cmds[i] = redis.NewSliceCmd(ctx, "hmget", s.Keys.Job(l.ID), step+":error", step+":waits")
		}
		if err := s.do(ctx, cmds...); err != nil {
			return nil, fmt.Errorf("retries: %w", err)
		}
		for i, c := range cmds {
			if err := c.Err(); err != nil && !WrongType(err) {
				return nil, fmt.Errorf("retries: %w", err)
			}
			values := c.(*redis.SliceCmd).Val()
			failed[from+i] = len(values) == 2 && values[0] != nil && values[1] == nil
		}
	}
	return failed, nil
}

// traceTime bounds the wait of a task for its trace.
const traceTime = time.Second

// Traceparent returns the trace of a job; empty: it is not traced, or Redis does not answer within a
// second.
func (s Hashes) Traceparent(ctx context.Context, id string) string {
	ctx, cancel := context.WithTimeout(ctx, traceTime)
	defer cancel()
	return s.rdb.HGet(ctx, s.Keys.Job(id), "traceparent").Val()
}
