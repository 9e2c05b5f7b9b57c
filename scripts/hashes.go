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
	err = s.pairs(ctx, len(ids), func(i int) (id, one, other string) { return ids[i], "job", "spooled" },
		func(i int, line, bytes any) {
			lines[i], _ = line.(string)
			text, _ := bytes.(string)
			spooled[i], _ = strconv.ParseInt(text, 10, 64)
		})
	if err != nil {
		return nil, nil, fmt.Errorf("states: %w", err)
	}
	return lines, spooled, nil
}

// InParts returns the bytes of the segments that tasks have written in parts, and that are not listed yet.
func (s Hashes) InParts(ctx context.Context, tasks []job.Later) ([]int64, error) {
	sizes := make([]int64, len(tasks))
	err := s.pairs(ctx, len(tasks), func(i int) (id, one, other string) {
		return tasks[i].ID, tasks[i].Step + ":memo", tasks[i].Step + ":found"
	}, func(i int, memo, found any) {
		if text, ok := memo.(string); ok && found == nil {
			sizes[i] = job.BytesInParts([]byte(text))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("parts: %w", err)
	}
	return sizes, nil
}

// pairs reads two fields of each of n hashes, in pages. A value is nil if it does not exist, or the key is of another
// type.
func (s Hashes) pairs(
	ctx context.Context, n int, of func(i int) (id, one, other string), found func(i int, one, other any),
) error {
	for from := 0; from < n; from += pageSize {
		cmds := make([]redis.Cmder, min(pageSize, n-from))
		for i := range cmds {
			id, one, other := of(from + i)
			cmds[i] = redis.NewSliceCmd(ctx, "hmget", s.Keys.Job(id), one, other)
		}
		if err := s.do(ctx, cmds...); err != nil {
			return err
		}
		for i, c := range cmds {
			if err := c.Err(); err != nil && !WrongType(err) {
				return err
			}
			if values := c.(*redis.SliceCmd).Val(); len(values) == 2 {
				found(from+i, values[0], values[1])
			}
		}
	}
	return nil
}

// Failed tells which steps are retried because a try failed. Others wait, such as for a slot, or were
// handed back.
func (s Hashes) Failed(ctx context.Context, steps []job.Later) ([]bool, error) {
	failed := make([]bool, len(steps))
	err := s.pairs(ctx, len(steps), func(i int) (id, one, other string) {
		step := steps[i].Step
		if step == job.StepRecord {
			step = job.StepFanIn
		}
		return steps[i].ID, step + ":error", step + ":waits"
	}, func(i int, failure, waits any) { failed[i] = failure != nil && waits == nil })
	if err != nil {
		return nil, fmt.Errorf("retries: %w", err)
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
