package scripts

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// Options configures Scripts.
type Options struct {
	// Redis runs the scripts. It must not be the client of blocking reads: those
	// would use up its connections.
	Redis redis.UniversalClient
	// Keys names the keys; the zero value means report.DefaultKeys.
	Keys Keys
	// Split keeps keys that all jobs share out of the scripts, as a cluster needs
	// it. It is on by itself where Redis is a *redis.ClusterClient.
	Split bool
	// EventsCap is about how many transitions the events stream keeps; 0 means
	// 100,000.
	EventsCap int64
	// JobBytes is the most that the data of one job may have; 0 means 1 GiB.
	JobBytes int64
	// Timeout bounds one round trip; 0 means 10 s.
	Timeout time.Duration
}

// Scripts runs Fanfold's Lua scripts. It is safe for concurrent use: calls that
// come at the same time share a round trip.
type Scripts struct {
	Keys
	rdb    redis.UniversalClient
	split  bool
	events string // cap, as an argument
	bytes  int64  // most of a job's data
	pipe   *pipeline
	paused pauses
}

// script is one Lua file.
type script struct {
	name, source, sha string
}

var (
	startScript     = load("start")
	takeScript      = load("take")
	appendScript    = load("append")
	completeScript  = newScript("append", allowOOM(mustRead("append")))
	storeScript     = load("store")
	endsScript      = newScript("store", allowOOM(mustRead("store")))
	claimScript     = load("claim")
	advanceScript   = load("advance")
	publishScript   = load("publish")
	failScript      = load("fail")
	omitScript      = load("omit")
	extendScript    = load("extend")
	settleScript    = load("settle")
	keepaliveScript = load("keepalive")
	delayScript     = load("delay")
	dueScript       = load("due")
	moveScript      = load("move")
	ackScript       = load("ack")
	requeueScript   = load("requeue")
	forgetScript    = load("forget")
	againScript     = load("again")
	resendScript    = load("resend")
	refuseScript    = load("refuse")
	deadlinesScript = load("deadlines")
	canaryScript    = load("canary")
	snapshotScript  = load("snapshot")
)

// all are the scripts by their SHA-1, which is their name in Redis.
var all = map[string]*script{}

func load(name string) *script { return newScript(name, mustRead(name)) }

// allowOOM returns a script's source as one that Redis also runs when it is full.
func allowOOM(source string) string {
	return strings.Replace(source, "#!lua\n", "#!lua flags=allow-oom\n", 1)
}

// newScript makes a script of a file, as a function between what stands before and
// behind every one.
func newScript(name, source string) *script {
	header, body, _ := strings.Cut(source, "\n")
	s := &script{name: name}
	common := strings.ReplaceAll(mustRead("common"), "HORIZON", strconv.FormatInt(Horizon.Milliseconds(), 10))
	s.source = header + "\n" + common +
		"local function call(KEYS, ARGV, SHARED_KEYS, SHARED)\n" + body + "end\n" + mustRead("call")
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

// New returns Scripts on a client, which stays the caller's to close.
func New(o Options) *Scripts {
	if o.Keys == (Keys{}) {
		o.Keys = Keys(report.DefaultKeys)
	}
	if o.EventsCap == 0 {
		o.EventsCap = 100_000
	}
	if o.JobBytes == 0 {
		o.JobBytes = 1 << 30
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if _, ok := o.Redis.(*redis.ClusterClient); ok {
		o.Split = true
	}
	return &Scripts{
		Keys: o.Keys, rdb: o.Redis, split: o.Split, events: fmt.Sprint(o.EventsCap), bytes: o.JobBytes,
		pipe: &pipeline{rdb: o.Redis, timeout: o.Timeout, split: o.Split},
	}
}

// Load sends all scripts to Redis, and so proves that it is there and new
// enough (7.0). Calling it is not needed: a script that is missing is sent when
// it is used.
func (s *Scripts) Load(ctx context.Context) error {
	for _, script := range all {
		if err := loadScript(ctx, s.rdb, script); err != nil {
			return err
		}
	}
	return nil
}

func loadScript(ctx context.Context, rdb redis.UniversalClient, script *script) error {
	send := func(ctx context.Context, c *redis.Client) error {
		return c.ScriptLoad(ctx, script.source).Err()
	}
	var err error
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, send)
	} else {
		err = rdb.ScriptLoad(ctx, script.source).Err()
	}
	if err != nil {
		return fmt.Errorf("load script %s: %w", script.name, err)
	}
	return nil
}

// also appends keys that all jobs share, where a script may have them.
func (s *Scripts) also(keys []string, more ...string) []string {
	if s.split {
		return keys
	}
	return append(keys, more...)
}

// outcome runs a script that answers with an outcome alone.
func (s *Scripts) outcome(ctx context.Context, c *call) (Outcome, error) {
	if err := s.pipe.do(ctx, c); err != nil {
		return 0, err
	}
	n, err := c.Int64()
	return Outcome(n), asError(c.script.name, err)
}

// list runs a script that answers with an outcome and more.
func (s *Scripts) list(ctx context.Context, c *call) (Outcome, []any, error) {
	if err := s.pipe.do(ctx, c); err != nil {
		return 0, nil, err
	}
	return listReply(c)
}

func listReply(c *call) (Outcome, []any, error) {
	reply, err := c.Slice()
	if err != nil {
		return 0, nil, asError(c.script.name, err)
	}
	if len(reply) > 0 {
		if n, ok := reply[0].(int64); ok {
			return Outcome(n), reply[1:], nil
		}
	}
	return 0, nil, fmt.Errorf("script %s: %w: %v", c.script.name, ErrReply, reply)
}

func isNoScript(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }
