package scripts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// batchCalls bounds how many calls of a script share one, and so for how long it
// keeps Redis from all others.
const batchCalls = 32

// batchArgs bounds the arguments of a call that shares one: Lua unpacks no more than
// 8000 values at once.
const batchArgs = 1000

// batch is a command that does those of several callers.
type batch struct {
	cmd *redis.Cmd
	of  []*redis.Cmd
}

// merge puts calls of the same script together, and returns the commands to send
// and the batches among them. Only callers that wait for one command take part: the
// order of several would be lost.
func merge(ctx context.Context, calls []*call) (cmds []redis.Cmder, batches []*batch) {
	same := map[*script][]*redis.Cmd{}
	for _, c := range calls {
		if len(c.cmds) == 1 {
			if cmd, ok := c.cmds[0].(*redis.Cmd); ok {
				if script := scriptOf(cmd); script != nil && len(cmd.Args()) < batchArgs {
					same[script] = append(same[script], cmd)
					continue
				}
			}
		}
		cmds = append(cmds, c.cmds...)
	}
	for script, of := range same {
		for len(of) > 0 {
			n := min(len(of), batchCalls)
			if n == 1 {
				cmds = append(cmds, of[0])
			} else {
				b := newBatch(ctx, script, of[:n])
				cmds, batches = append(cmds, b.cmd), append(batches, b)
			}
			of = of[n:]
		}
	}
	return cmds, batches
}

// scriptOf returns the script that a command runs; nil for other commands.
func scriptOf(cmd *redis.Cmd) *script {
	if args := cmd.Args(); len(args) > 2 && args[0] == "evalsha" {
		return all[args[1].(string)]
	}
	return nil
}

func newBatch(ctx context.Context, script *script, of []*redis.Cmd) *batch {
	var keys []string
	var args []any
	for _, cmd := range of {
		own := cmd.Args()[3:]
		n := cmd.Args()[2].(int)
		for _, key := range own[:n] {
			keys = append(keys, key.(string))
		}
		args = append(append(args, n, len(own)-n), own[n:]...)
	}
	return &batch{cmd: script.batch.cmd(ctx, keys, args...), of: of}
}

// share gives each caller its answer.
func (b *batch) share() {
	answers, err := b.cmd.Slice()
	if err == nil && len(answers) != len(b.of) {
		err = fmt.Errorf("%w: %d answers to %d calls", ErrReply, len(answers), len(b.of))
	}
	for i, cmd := range b.of {
		if err != nil {
			cmd.SetErr(err)
		} else if failed, ok := answers[i].(error); ok {
			cmd.SetErr(errors.New(strings.TrimPrefix(failed.Error(), "CALL ")))
		} else {
			cmd.SetVal(answers[i])
		}
	}
}
