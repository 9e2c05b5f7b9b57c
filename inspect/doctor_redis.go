package inspect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxSkew is how far clocks may be apart before people are confused by times;
// decisions use Redis's clock alone.
const maxSkew = 2 * time.Second

func (d redisDoctor) checkRedis(ctx context.Context) Findings {
	info, err := d.redis.InfoMap(ctx, "server", "memory", "persistence").Result()
	if err != nil {
		return Findings{newFinding("redis", Fail, "", err, "is the URL right, and the server up?")}
	}
	server := info["Server"]
	fs := Findings{
		newFinding("redis version", Fail, server["redis_version"], atLeast7(server["redis_version"]), "Fanfold needs Redis 7.0 or later"),
	}
	now, err := d.redis.Time(ctx).Result()
	fs = append(fs, checkSkew("redis clock", now, err))
	fs = append(fs, checkEviction(info["Memory"]["maxmemory_policy"]), checkRedisMemory(info["Memory"], d.config.Limits.Memory))
	if info["Persistence"]["aof_enabled"] == "1" {
		fs = append(fs, Finding{Check: "redis persistence", Result: Pass, Detail: "append-only file"})
	} else {
		fs = append(fs, Finding{
			Check: "redis persistence", Result: Warn, Detail: "no append-only file: running jobs are lost with a restart",
			Hint: "appendonly yes, appendfsync everysec",
		})
	}
	fs = append(fs, d.checkNotifications(ctx))
	fs = append(fs, newFinding("redis scripts", Fail, "all scripts load", d.scripts.Load(ctx), "may this user run EVALSHA and SCRIPT LOAD?"))
	fs = append(fs, d.checkPauses(ctx), d.checkDefinitions(ctx), d.checkQuarantine(ctx), d.checkTimersDue(ctx))
	return append(fs, d.checkStreams(ctx)...)
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
	var err error
	if policy != "noeviction" {
		err = fmt.Errorf("maxmemory-policy is %s: Redis may drop the keys of running jobs", policy)
	}
	return newFinding("redis eviction", Fail, policy, err, "maxmemory-policy noeviction, in a Redis of Fanfold's own")
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
		return Finding{Check: check, Result: Pass, Detail: fmt.Sprintf("%d MB used, without maxmemory", used>>20)}
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
func (d redisDoctor) checkNotifications(ctx context.Context) Finding {
	const check, hint = "redis notifications", "notify-keyspace-events Kgz$x; without them Fanfold polls once a second"
	values, err := d.redis.ConfigGet(ctx, "notify-keyspace-events").Result()
	if err != nil {
		return newFinding(check, Warn, "", fmt.Errorf("CONFIG GET is refused: %w", err), hint)
	}
	have := values["notify-keyspace-events"]
	for _, flag := range "Kgz$x" {
		if !strings.ContainsRune(have, flag) && (strings.ContainsRune("KE", flag) || !strings.ContainsRune(have, 'A')) {
			return newFinding(check, Warn, "", fmt.Errorf("%q lacks %q", have, flag), hint)
		}
	}
	return Finding{Check: check, Result: Pass, Detail: have}
}
