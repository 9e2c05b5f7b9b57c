package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect/functions"
	"github.com/fanfold/fanfold/internal/redisdb"
)

// maxSkew is how far clocks may be apart before people are confused by times;
// decisions use Redis's clock alone.
const maxSkew = 2 * time.Second

func (d redisDoctor) checkRedis(ctx context.Context) Findings {
	masters, err := redisdb.Masters(ctx, d.Redis)
	if err != nil {
		return Findings{newFinding("redis", Fail, "", err, d.hint(err))}
	}
	var fs Findings
	for _, master := range masters {
		found := d.checkServer(ctx, master)
		for i := range found {
			if len(masters) > 1 {
				found[i].Check += " of " + master.Options().Addr
			}
		}
		fs = append(fs, found...)
	}
	if slices.ContainsFunc(fs, func(f Finding) bool { return f.Check == "redis" || strings.HasPrefix(f.Check, "redis of ") }) {
		return fs
	}
	fs = append(fs, d.checkScripts(ctx), d.checkPauses(ctx), d.checkDefinitions(ctx), d.checkQuarantine(ctx), d.checkTimersDue(ctx))
	if len(d.Scripts) > 1 {
		fs = append(fs, d.checkPartitions(ctx, len(masters)))
	}
	for _, s := range d.Scripts {
		fs = append(fs, d.checkStreams(ctx, s)...)
	}
	return fs
}

// checkScripts sends all scripts to the server.
func (d redisDoctor) checkScripts(ctx context.Context) Finding {
	home := d.Scripts.Home()
	err, detail := home.Load(ctx), "all scripts load"
	if home.Plain() {
		detail += " without their first line, #!lua, which this server refuses: it does not check their keys"
	}
	return newFinding("redis scripts", Fail, detail, err, "may this user run EVALSHA and SCRIPT LOAD?")
}

// hint says what to look at where a server does not answer.
func (d redisDoctor) hint(err error) string {
	return cmp.Or(redisdb.Hint(d.Config.Redis, err), "are the addresses right, and the servers up?")
}

// checkServer checks one server.
func (d redisDoctor) checkServer(ctx context.Context, client *redis.Client) Findings {
	info, err := client.InfoMap(ctx, "server", "memory", "persistence").Result()
	server := info["Server"]
	if err != nil {
		return Findings{newFinding("redis", Fail, "", err, d.hint(err))}
	}
	if err := redisdb.CheckMode(d.Config.Redis, server); err != nil {
		return Findings{newFinding("redis", Fail, "", err, "correct redis in the configuration")}
	}
	fs := Findings{
		newFinding("redis version", Fail, serverName(server), atLeast7(server["redis_version"]), "Fanfold needs Redis 7.0 or later"),
	}
	now, err := client.Time(ctx).Result()
	fs = append(fs, checkSkew("redis clock", now, err))
	fs = append(fs, checkEviction(info["Memory"]["maxmemory_policy"]), checkRedisMemory(info["Memory"], d.Config.Limits.Memory))
	if info["Persistence"]["aof_enabled"] == "1" {
		fs = append(fs, pass("redis persistence", "append-only file"))
	} else {
		fs = append(fs, Finding{
			Check: "redis persistence", Result: Warn, Detail: "no append-only file: running jobs are lost with a restart",
			Hint: "appendonly yes, appendfsync everysec",
		})
	}
	return append(fs, checkFunctions(ctx, client), d.checkNotifications(ctx, client))
}

// checkFunctions tells whether redis-cli can ask why. It is never a failure: all else works without.
func checkFunctions(ctx context.Context, client *redis.Client) Finding {
	const check = "redis functions"
	switch version, err := functions.Loaded(ctx, client); {
	case err != nil:
		return pass(check, fmt.Sprintf("fanfold_why and fanfold_top cannot be loaded: %v", err))
	case version == 0:
		return pass(check, "fanfold_why and fanfold_top are not loaded: fanfold serve does so when it starts")
	case version > functions.Version:
		return pass(check, fmt.Sprintf("fanfold_why and fanfold_top are loaded by a newer Fanfold: library version %d", version))
	}
	return pass(check, "redis-cli FCALL_RO fanfold_why and fanfold_top are loaded")
}

// serverName is the kind and the version of a server, as INFO tells it. Others than Redis give the
// version of Redis that they are like besides.
func serverName(info map[string]string) string {
	for _, kind := range []string{"Valkey", "Dragonfly"} {
		if version := info[strings.ToLower(kind)+"_version"]; version != "" {
			return kind + " " + version
		}
	}
	return "Redis " + info["redis_version"]
}

func atLeast7(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return fmt.Errorf("version %q is older than 7.0", version)
	}
	return nil
}

func checkSkew(check string, now time.Time, err error) Finding {
	skew := time.Since(now).Abs().Round(time.Millisecond)
	if err == nil && skew > maxSkew {
		err = fmt.Errorf("%v apart from this machine", skew)
	}
	return newFinding(check, Warn, fmt.Sprintf("within %v of this machine", maxSkew), err, "run NTP on both")
}

func checkEviction(policy string) Finding {
	const check, hint = "redis eviction", "maxmemory-policy noeviction, in a Redis of Fanfold's own"
	if policy == "" {
		return newFinding(check, Warn, "", errors.New("INFO memory does not tell maxmemory_policy"), hint)
	}
	var err error
	if policy != "noeviction" {
		err = fmt.Errorf("maxmemory-policy is %s: Redis may drop the keys of running jobs", policy)
	}
	return newFinding(check, Fail, policy, err, hint)
}

// checkRedisMemory compares the memory in use with maxmemory.
func checkRedisMemory(memory map[string]string, allowed int) Finding {
	const check, hint = "redis memory", "give Redis more maxmemory, or let running jobs end; limits.running_jobs and limits.job_bytes bound what they use"
	used, usedErr := strconv.ParseInt(memory["used_memory"], 10, 64)
	limit, limitErr := strconv.ParseInt(memory["maxmemory"], 10, 64)
	if err := errors.Join(usedErr, limitErr); err != nil {
		return newFinding(check, Warn, "", fmt.Errorf("INFO memory does not say it: %w", err), "")
	}
	if limit == 0 {
		return pass(check, fmt.Sprintf("%d MB used, without maxmemory", used>>20))
	}
	percent := used * 100 / limit
	detail, result := fmt.Sprintf("%d %% of maxmemory (%d MB) are used", percent, limit>>20), Warn
	var err error
	switch {
	case percent >= 100:
		err, result = errors.New(detail+": Redis refuses writes, pushes too"), Fail
	case percent > int64(allowed):
		err = fmt.Errorf("%s: above limits.memory (%d %%) no job is started", detail, allowed)
	}
	return newFinding(check, result, detail, err, hint)
}

// checkNotifications checks for the events that the scheduler can use.
func (d redisDoctor) checkNotifications(ctx context.Context, client *redis.Client) Finding {
	const check = "redis notifications"
	missing, has, err := d.in.UnheardOf(ctx, client)
	if err != nil {
		return newFinding(check, Warn, "", fmt.Errorf("cannot be tried: %w", err), "may this user use SUBSCRIBE, ZADD, SET and DEL, and is Redis full?")
	}
	if !has {
		return pass(check, "no partition is on this server")
	}
	if len(missing) > 0 {
		err = fmt.Errorf("not published: %s", strings.Join(missing, ", "))
	}
	return newFinding(check, Warn, "expired, del, set and zadd are heard", err,
		"fanfold serve switches them on where it may use CONFIG SET; elsewhere set notify-keyspace-events Kgz$x by hand, in the parameters of a managed server. Without them Fanfold polls once a second")
}
