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

// A command that runs a script has these arguments: evalsha, SHA-1, number of keys,
// shared keys, own keys, number of shared keys, number of shared arguments, number of
// own keys, shared arguments, number of own arguments, own arguments. That of a batch
// has the keys and arguments of several calls behind those that they share; call.lua
// takes it apart.

// shared are keys and arguments that many calls of a script have in common. They are
// not changed after they were given to one.
type shared struct {
	keys []string
	args []any
}

// cmd makes the command that runs a script once.
func (s *script) cmd(ctx context.Context, with shared, keys []string, args ...any) *redis.Cmd {
	full := make([]any, 0, 7+len(with.keys)+len(keys)+len(with.args)+len(args))
	full = append(full, "evalsha", s.sha, len(with.keys)+len(keys))
	for _, k := range with.keys {
		full = append(full, k)
	}
	for _, k := range keys {
		full = append(full, k)
	}
	full = append(full, len(with.keys), len(with.args), len(keys))
	full = append(full, with.args...)
	full = append(full, len(args))
	full = append(full, args...)
	c := redis.NewCmd(ctx, full...)
	c.SetFirstKeyPos(3)
	return c
}

// parts are those of a command that runs a script once.
type parts struct {
	script             *script
	sharedKeys, shared []any
	keys, args         []any
}

// partsOf takes a command apart, which is no script's where there is none.
func partsOf(cmd redis.Cmder) (p parts) {
	all := cmd.Args()
	if p.script = scriptOf(all); p.script == nil {
		return p
	}
	keys := 3 + all[2].(int)
	n, args := all[keys].(int), all[keys+1].(int)
	p.sharedKeys, p.keys = all[3:3+n], all[3+n:keys]
	p.shared, p.args = all[keys+3:keys+3+args], all[keys+3+args:] // own ones with their number
	return p
}

// scriptOf returns the script that a command runs; nil for other commands.
func scriptOf(args []any) *script {
	if len(args) > 2 && args[0] == "evalsha" {
		return all[args[1].(string)]
	}
	return nil
}

// batch is one command that runs a script for several callers.
type batch struct {
	parts
	of []*redis.Cmd
}

// takes tells whether a call can share the batch.
func (b *batch) takes(p parts) bool {
	return b.script == p.script && len(b.of) < batchCalls && len(b.keys) == len(b.of)*len(p.keys) &&
		slices.Equal(b.sharedKeys, p.sharedKeys) && slices.Equal(b.shared, p.shared)
}

// merge puts calls of the same script together, and returns the batches and the
// commands that come after them. Only the first command of a caller takes part: the
// order of several would be lost.
func merge(calls []*call) (batches []*batch, cmds []redis.Cmder) {
	open := map[*script]*batch{}
	for _, c := range calls {
		cmd, ok := c.cmds[0].(*redis.Cmd)
		var p parts
		if ok && len(cmd.Args()) < batchArgs {
			p = partsOf(cmd)
		}
		if p.script == nil {
			cmds = append(cmds, c.cmds...)
			continue
		}
		b := open[p.script]
		if b == nil || !b.takes(p) {
			b = &batch{parts: parts{script: p.script, sharedKeys: p.sharedKeys, shared: p.shared}}
			open[p.script] = b
			batches = append(batches, b)
		}
		b.keys, b.args, b.of = append(b.keys, p.keys...), append(b.args, p.args...), append(b.of, cmd)
		cmds = append(cmds, c.cmds[1:]...)
	}
	return batches, cmds
}

// cmd is the command of the whole batch.
func (b *batch) cmd(ctx context.Context) *redis.Cmd {
	if len(b.of) == 1 {
		return b.of[0]
	}
	full := make([]any, 0, 6+len(b.sharedKeys)+len(b.keys)+len(b.shared)+len(b.args))
	full = append(full, "evalsha", b.script.sha, len(b.sharedKeys)+len(b.keys))
	full = append(append(full, b.sharedKeys...), b.keys...)
	full = append(full, len(b.sharedKeys), len(b.shared), len(b.keys)/len(b.of))
	full = append(append(full, b.shared...), b.args...)
	return redis.NewCmd(ctx, full...)
}

// share gives each call of a command its answer.
func share(whole *redis.Cmd, of []*redis.Cmd) {
	answers, err := whole.Slice()
	if err == nil && len(answers) != len(of) {
		err = fmt.Errorf("%w: %d answers to %d calls", ErrReply, len(answers), len(of))
	}
	for i, cmd := range of {
		if err != nil {
			cmd.SetErr(err)
		} else if failed, ok := answers[i].(error); ok {
			cmd.SetErr(errors.New(strings.TrimPrefix(failed.Error(), "CALL ")))
		} else {
			cmd.SetVal(answers[i])
		}
	}
}
