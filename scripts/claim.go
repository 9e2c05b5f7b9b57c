package scripts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Claim is what claims a job whose barrier was reached, or that is to end.
type Claim struct {
	ID      string
	Attempt int64
	Stage   int64  // of the entry; 0 for any
	Worker  string // who claims
	Lease   time.Duration
	Known   []string // hashes of the definitions that the caller has
	Bytes   int64    // of the data, as the entry says; 0: not known
}

// Claim claims a job: OK to fold it, with its data where that is small, ToFail to
// end it, both with its state and the fence in it; Already where its stage is behind
// us (with the state, if the next stage is running).
func (s *Scripts) Claim(ctx context.Context, c Claim) (Outcome, *State, error) {
	with := shared{args: []any{c.Lease.Milliseconds(), Margin.Milliseconds()}}
	for _, k := range c.Known {
		with.args = append(with.args, k)
	}
	claim := claimScript.call(with, []string{s.Data(c.ID), s.State(c.ID)}, c.Attempt, c.Stage, c.Worker)
	// They come after the script: outside of Lua they cost half as much. What happens in
	// between is found by attempt and fence.
	fields, data := redis.NewMapStringStringCmd(ctx, "hgetall", s.State(c.ID)), redis.NewMapStringStringCmd(ctx, "hgetall", s.Data(c.ID))
	cmds := []redis.Cmder{claim, fields, data}
	small := c.Bytes > 0 && c.Bytes <= sharedBytes
	if !small {
		cmds = cmds[:2]
	}
	if err := s.pipe.do(ctx, cmds...); err != nil {
		return 0, nil, err
	}
	outcome, more, err := listReply(claim)
	switch {
	case err != nil || outcome != OK && outcome != ToFail && (outcome != Already || len(more) == 0):
		return outcome, nil, err
	case fields.Err() != nil:
		return 0, nil, asError("claim", fields.Err())
	}
	state, err := parseState(c.ID, fields.Val())
	if err != nil || outcome == Already {
		return outcome, state, err
	}
	if len(more) != 2 {
		return 0, nil, fmt.Errorf("script claim: %w: %v", ErrReply, more)
	}
	fence, _ := more[0].(int64)
	if state.Fence != fence {
		// The script ran after all: Redis did not know it the first time. Or somebody
		// else has the job by now, and this fence will be refused.
		if state, err = s.Read(ctx, c.ID); errors.Is(err, ErrNoJob) {
			return Gone, nil, nil
		} else if err != nil {
			return 0, nil, err
		}
		small = false
	}
	if state.Attempt != c.Attempt {
		return Gone, nil, nil // started again since, and fences count from 0 again
	}
	state.Fence = fence
	state.Status, _ = more[1].(string)
	if small && outcome == OK && data.Err() == nil {
		state.data = data.Val()
	}
	return outcome, state, nil
}
