package scripts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrRights is returned if the user of Redis lacks rights that the roles need. Its text names them.
var ErrRights = errors.New("the Redis user lacks rights")

// needed are the commands that the roles call, with as many arguments as Redis needs to check the
// rights; KEY stands for a key. The guide Security has the same commands, and a test runs with
// exactly these.
const needed = `multi; exec; discard; ping; time; info memory; client info
eval x 0; evalsha x 0; script load x; publish x x; subscribe x; psubscribe x
exists KEY; type KEY; unlink KEY; del KEY; pttl KEY; persist KEY; pexpire KEY 1; pexpireat KEY 1; pexpiretime KEY
rename KEY KEY; scan 0; get KEY; mget KEY; getrange KEY 0 0; set KEY x; setbit KEY 0 0
hget KEY x; hmget KEY x; hgetall KEY; hexists KEY x; hlen KEY; hset KEY x x; hsetnx KEY x x; hdel KEY x; hscan KEY 0
zadd KEY 0 x; zrem KEY x; zscore KEY x; zmscore KEY x; zcard KEY; zcount KEY 0 0; zscan KEY 0; zrange KEY 0 0
zrangebyscore KEY 0 0; zrangebylex KEY - +; zlexcount KEY - +; zrevrange KEY 0 0; zremrangebyscore KEY 0 0
zremrangebyrank KEY 0 0
xadd KEY * x x; xlen KEY; xrange KEY - +; xrevrange KEY + -; xread streams KEY 0; xreadgroup group x x streams KEY >
xack KEY x 0; xdel KEY 0; xtrim KEY maxlen 0; xclaim KEY x x 0 0; xautoclaim KEY x x 0 0; xpending KEY x
xgroup create KEY x 0; xgroup createconsumer KEY x x; xgroup delconsumer KEY x x
xinfo groups KEY; xinfo consumers KEY x; xinfo stream KEY`

// Needed returns the commands that the roles call, as ACL SETUSER names them.
func Needed() (all []string) {
	for _, command := range neededCommands() {
		all = append(all, aclName(command))
	}
	return all
}

func neededCommands() (all [][]string) {
	for command := range strings.FieldsFuncSeq(needed, func(r rune) bool { return r == ';' || r == '\n' }) {
		all = append(all, strings.Fields(command))
	}
	return all
}

// aclName returns the name of a command in an ACL, such as xgroup|create.
func aclName(command []string) string {
	switch command[0] {
	case "client", "script", "xgroup", "xinfo":
		return command[0] + "|" + command[1]
	}
	return command[0]
}

// CheckRights asks the server of the keys whether this user may run every command that the roles
// need, and use their keys. It changes nothing: the rights to commands that are queued in a
// transaction are checked, and the transaction ends with its connection. It returns ErrRights if a right is missing.
func (s *Scripts) CheckRights(ctx context.Context) error {
	node, err := s.Node(ctx)
	if err != nil {
		return err
	}
	options := *node.Options() // not a connection of the pool, which would stay in the transaction
	options.PoolSize, options.MinIdleConns = 1, 0
	client := redis.NewClient(&options)
	defer client.Close()
	conn := client.Conn()
	defer conn.Close()
	switch err := conn.Do(ctx, "multi").Err(); {
	case redis.HasErrorPrefix(err, "NOPERM"): // outside of a transaction, commands would be executed
		return fmt.Errorf("%w: +multi", ErrRights)
	case err != nil:
		return err
	}
	var lacks []string
	lack := func(what string) {
		if !slices.Contains(lacks, what) {
			lacks = append(lacks, what)
		}
	}
	for _, prefix := range []string{s.Keys.Prefix, s.Keys.Hash, s.Keys.Replies, "{" + s.Keys.Replies} {
		pattern := "~" + prefix + "*"
		probes, err := probe(ctx, conn, prefix+"rights")
		if err != nil {
			return err
		}
		for _, p := range probes {
			text := fmt.Sprint(p.err)
			switch {
			case !redis.HasErrorPrefix(p.err, "NOPERM"):
			case strings.Contains(text, "to run the '"): // first: from 7.2 on, the text has the user's name
				lack("+" + aclName(p.command))
			case strings.Contains(text, "channel"): // without events and messages, the roles poll
			default:
				lack(pattern)
			}
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	slices.Sort(lacks)
	return fmt.Errorf("%w: %s", ErrRights, strings.Join(lacks, " "))
}

// probed is what Redis says to a command that was queued.
type probed struct {
	command []string
	err     error
}

// probe queues the commands with a key in the transaction of a connection.
func probe(ctx context.Context, conn *redis.Conn, key string) (all []probed, err error) {
	var answers []*redis.Cmd
	_, err = conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, command := range neededCommands() {
			args := make([]any, len(command))
			for i, arg := range command {
				if args[i] = arg; arg == "KEY" {
					args[i] = key
				}
			}
			switch command[0] {
			case "multi", "exec", "discard", "subscribe", "psubscribe": // these are not queued
				continue
			}
			all, answers = append(all, probed{command: command}), append(answers, p.Do(ctx, args...))
		}
		return nil
	})
	if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
		return nil, err
	}
	for i, answer := range answers {
		all[i].err = answer.Err()
	}
	return all, nil
}
