package scripts

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one Lua file.
type script struct {
	name, source, sha string
}

var (
	startScript      = load("start")
	takeScript       = load("take")
	appendScript     = load("append")
	completeScript   = load("complete")
	countScript      = newScript("complete", allowOOM(mustRead("complete")))
	storeScript      = load("store")
	endsScript       = newScript("store", allowOOM(mustRead("store")))
	stateScript      = load("state")
	claimScript      = load("claim")
	advanceScript    = load("advance")
	publishScript    = load("publish")
	failScript       = load("fail")
	omitScript       = load("omit")
	extendScript     = load("extend")
	settleScript     = load("settle")
	keepScript       = load("keep")
	delayScript      = load("delay")
	dueScript        = load("due")
	moveScript       = load("move")
	ackScript        = load("ack")
	requeueScript    = load("requeue")
	handbackScript   = load("handback")
	forgetScript     = load("forget")
	againScript      = load("again")
	resendScript     = load("resend")
	refuseScript     = load("refuse")
	deadlinesScript  = load("deadlines")
	canaryScript     = load("canary")
	snapshotScript   = load("snapshot")
	rateScript       = load("rate")
	slotScript       = load("slot")
	announceScript   = load("announce")
	cancelScript     = load("cancel")
	putbackScript    = load("putback")
	rememberScript   = load("remember")
	timersScript     = load("timers")
	fireScript       = load("fire")
	adoptScript      = load("adopt")
	timerSetScript   = load("timer_set")
	timerMoveScript  = load("timer_move")
	timerNowScript   = load("timer_now")
	renewScript      = load("renew")
	firedLaterScript = load("fired_later")
	firedAgainScript = load("fired_again")
)

// all are the scripts by their SHA-1, which is their name in Redis.
var all = map[string]*script{}

func load(name string) *script { return newScript(name, mustRead(name)) }

// allowOOM returns a script's source as one that Redis also runs when it is full.
func allowOOM(source string) string {
	return strings.Replace(source, "#!lua\n", "#!lua flags=allow-oom\n", 1)
}

// newScript makes a script of a file: its first line is followed by clock.lua, and by the
// file that its second line names, as in "-- Uses  job".
func newScript(name, source string) *script {
	header, body, _ := strings.Cut(source, "\n")
	before := mustRead("clock")
	if uses, ok := strings.CutPrefix(strings.SplitN(body, "\n", 2)[0], "-- Uses  "); ok {
		before += mustRead(uses)
	}
	before = strings.ReplaceAll(before, "HORIZON", strconv.FormatInt(Horizon.Milliseconds(), 10))
	s := &script{name: name, source: header + "\n" + before + body}
	sum := sha1.Sum([]byte(s.source))
	s.sha = hex.EncodeToString(sum[:])
	all[s.sha] = s
	return s
}

// Names returns the names of all scripts by the SHA-1 with which Redis knows them.
func Names() map[string]string {
	names := map[string]string{}
	for sha, s := range all {
		names[sha] = s.name
	}
	return names
}

func mustRead(name string) string {
	b, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // the file is part of the binary
	}
	return string(b)
}

// Load sends all scripts to Redis, which proves that it can be reached and is new enough
// (7.0). Calling it is optional: a script that is missing is sent when it is used.
func (s *conn) Load(ctx context.Context) error {
	for _, script := range all {
		if err := s.rdb.ScriptLoad(ctx, script.source).Err(); err != nil {
			return fmt.Errorf("load script %s: %w", script.name, err)
		}
	}
	return nil
}

// call makes the command that runs a script.
func (s *script) call(ctx context.Context, keys []string, args ...any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.sha, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// nameOf is the name of a command or a script.
func nameOf(c redis.Cmder) string {
	switch args := c.Args(); args[0] {
	case "evalsha":
		return "script " + all[args[1].(string)].name
	case "eval":
		for _, s := range all {
			if s.source == args[1] {
				return "script " + s.name
			}
		}
	}
	return c.Name()
}
