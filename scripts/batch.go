package scripts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// batchCalls bounds how many calls of a script share one, and so for how long it
// keeps Redis from all others.
const batchCalls = 32

// batchArgs bounds the arguments of a call that shares one: a large one keeps others
// waiting.
const batchArgs = 1000

// shared are keys and arguments that many calls of a script have in common. The
// arguments are strings and numbers, and not changed after they were given to a call.
type shared struct {
	keys []string
	args []any
}

// call is one call of a script, and its answer.
type call struct {
	redis.Cmd // for the answer alone: batch.cmd is what is sent
	script    *script
	with      shared
	keys      []string
	args      []any
}

// call makes a call of a script.
func (s *script) call(with shared, keys []string, args ...any) *call {
	return &call{script: s, with: with, keys: keys, args: args}
}

// batch is one command that does several calls of a script.
type batch struct {
	of     []*call
	answer *redis.Cmd
}

// takes tells whether a call of the same script can share the batch.
func (b *batch) takes(c *call) bool {
	first := b.of[0]
	return len(b.of) < batchCalls && len(first.keys) == len(c.keys) &&
		slices.Equal(first.with.keys, c.with.keys) && slices.Equal(first.with.args, c.with.args)
}

// merge puts calls of the same script together, and returns the batches and the
// commands that come after them. Only the first command of a caller takes part: the
// order of several would be lost.
func merge(waiting []*waiting) (batches []*batch, cmds []redis.Cmder) {
	open := map[*script][]*batch{}
	for _, w := range waiting {
		c, ok := w.cmds[0].(*call)
		if !ok || len(c.args) >= batchArgs {
			cmds = append(cmds, w.cmds...)
			continue
		}
		i := slices.IndexFunc(open[c.script], func(b *batch) bool { return b.takes(c) })
		if i < 0 {
			i = len(open[c.script])
			b := &batch{}
			open[c.script] = append(open[c.script], b)
			batches = append(batches, b)
		}
		b := open[c.script][i]
		b.of = append(b.of, c)
		cmds = append(cmds, w.cmds[1:]...)
	}
	return batches, cmds
}

// cmd is the command of the batch: evalsha, SHA-1, number of keys, keys and arguments
// as call.lua takes them apart.
func (b *batch) cmd(ctx context.Context) *redis.Cmd {
	first := b.of[0]
	keys, args := len(first.with.keys), 6+len(first.with.args)
	for _, c := range b.of {
		keys, args = keys+len(c.keys), args+1+len(c.args)
	}
	all := make([]any, 0, keys+args)
	all = append(all, "evalsha", first.script.sha, keys)
	for _, k := range first.with.keys {
		all = append(all, k)
	}
	for _, c := range b.of {
		for _, k := range c.keys {
			all = append(all, k)
		}
	}
	all = append(all, len(first.with.keys), len(first.with.args), len(first.keys))
	all = append(all, first.with.args...)
	for _, c := range b.of {
		all = append(append(all, len(c.args)), c.args...)
	}
	b.answer = redis.NewCmd(ctx, all...)
	b.answer.SetFirstKeyPos(3)
	return b.answer
}

// share gives each call its answer.
func (b *batch) share() {
	answers, err := b.answer.Slice()
	if err == nil && len(answers) != len(b.of) {
		err = fmt.Errorf("%w: %d answers to %d calls", ErrReply, len(answers), len(b.of))
	}
	for i, c := range b.of {
		if err != nil {
			c.SetErr(err)
		} else if failed, ok := answers[i].(error); ok {
			c.SetErr(errors.New(strings.TrimPrefix(failed.Error(), "CALL ")))
		} else {
			c.SetVal(answers[i])
		}
	}
}
