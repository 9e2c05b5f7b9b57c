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
	err = s.read(ctx, len(ids), func(i int) (string, []string) { return ids[i], []string{"job", "spooled"} },
		func(i int, values []any) {
			lines[i], _ = values[0].(string)
			text, _ := values[1].(string)
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
	err := s.read(ctx, len(tasks), func(i int) (string, []string) {
		return tasks[i].ID, []string{tasks[i].Step + ":memo", tasks[i].Step + ":found"}
	}, func(i int, values []any) {
		if text, ok := values[0].(string); ok && values[1] == nil {
			sizes[i] = job.BytesInParts([]byte(text))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("parts: %w", err)
	}
	return sizes, nil
}

// read reads the same number of fields of each of n hashes, in pages. A value is nil if it does not exist. A key of
// another type is skipped.
func (s Hashes) read(
	ctx context.Context, n int, of func(i int) (id string, fields []string), found func(i int, values []any),
) error {
	for from := 0; from < n; from += pageSize {
		cmds := make([]redis.Cmder, min(pageSize, n-from))
		for i := range cmds {
			id, fields := of(from + i)
			cmds[i] = redis.NewSliceCmd(ctx, append([]any{"hmget", s.Keys.Job(id)}, asArgs(fields)...)...)
		}
		if err := s.do(ctx, cmds...); err != nil {
			return err
		}
		for i, c := range cmds {
			if err := c.Err(); err != nil && !WrongType(err) {
				return err
			}
			if values := c.(*redis.SliceCmd).Val(); len(values) > 0 {
				found(from+i, values)
			}
		}
	}
	return nil
}

// Failed tells which steps are retried because a try failed. Others wait, such as for a slot, or were
// handed back.
func (s Hashes) Failed(ctx context.Context, steps []job.Later) ([]bool, error) {
	failed := make([]bool, len(steps))
	err := s.read(ctx, len(steps), func(i int) (string, []string) {
		step := steps[i].Step
		if step == job.StepRecord {
			step = job.StepFanIn
		}
		return steps[i].ID, []string{step + ":error", step + ":waits"}
	}, func(i int, values []any) { failed[i] = values[0] != nil && values[1] == nil })
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

// Paused tells of each task whether its query waits, such as for a slot of its source.
func (s Hashes) Paused(ctx context.Context, tasks []job.Later) ([]bool, error) {
	paused := make([]bool, len(tasks))
	if err := s.read(ctx, len(tasks), func(i int) (string, []string) {
		return tasks[i].ID, []string{tasks[i].Step + ":pause"}
	}, func(i int, values []any) { paused[i] = values[0] != nil }); err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	return paused, nil
}

// Worked returns how long the queries of tasks have taken: those that are done, and those that run, until now. It is 0
// of one that waits.
func (s Hashes) Worked(ctx context.Context, tasks []job.Later) ([]time.Duration, error) {
	worked := make([]time.Duration, len(tasks))
	if len(tasks) == 0 {
		return worked, nil
	}
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, len(tasks), func(i int) (string, []string) {
		step := tasks[i].Step
		return tasks[i].ID, []string{step + ":found", step + ":owner", step + ":taken", step + ":pause"}
	}, func(i int, values []any) {
		if found, ok := values[0].(string); ok {
			worked[i] = job.Took(found)
		} else if taken, ok := values[2].(string); ok && values[1] != nil && values[3] == nil {
			ms, _ := strconv.ParseInt(taken, 10, 64)
			worked[i] = max(0, now.Sub(time.UnixMilli(ms)))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	return worked, nil
}
