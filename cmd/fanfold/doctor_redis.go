package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// maxSkew is how far clocks may be apart before people are confused by times;
// decisions use Redis's clock alone.
const maxSkew = 2 * time.Second

func (b *backend) checkRedis(ctx context.Context) findings {
	info, err := b.redis.InfoMap(ctx, "server", "memory", "persistence").Result()
	if err != nil {
		return findings{judge("redis", fail, "", err, "is the URL right, and the server up?")}
	}
	server := info["Server"]
	fs := findings{
		judge("redis version", fail, server["redis_version"], atLeast7(server["redis_version"]), "Fanfold needs Redis 7.0 or later"),
	}
	now, err := b.redis.Time(ctx).Result()
	fs = append(fs, judgeSkew("redis clock", now, err))
	fs = append(fs, b.checkEviction(info["Memory"]["maxmemory_policy"]), b.checkRedisMemory(info["Memory"]))
	if info["Persistence"]["aof_enabled"] == "1" {
		fs = append(fs, finding{Check: "redis persistence", Result: pass, Detail: "append-only file"})
	} else {
		fs = append(fs, finding{
			Check: "redis persistence", Result: warn, Detail: "no append-only file: running jobs are lost with a restart",
			Hint: "appendonly yes, appendfsync everysec",
		})
	}
	fs = append(fs, b.checkNotifications(ctx))
	fs = append(fs, judge("redis scripts", fail, "all scripts load", b.scripts.Load(ctx), "may this user run EVALSHA and SCRIPT LOAD?"))
	fs = append(fs, b.checkPauses(ctx), b.checkDefinitions(ctx), b.checkQuarantine(ctx), b.checkTimersDue(ctx))
	return append(fs, b.checkStreams(ctx)...)
}

// checkPauses names what is paused: somebody may have forgotten it.
func (b *backend) checkPauses(ctx context.Context) finding {
	list, err := b.paused(ctx)
	if err == nil && len(list) > 0 {
		var all []string
		for _, p := range list {
			text := p.What + " is paused since " + stamp(p.Since)
			if p.Waiting > 0 {
				text += fmt.Sprintf(", %d ids wait", p.Waiting)
			}
			all = append(all, text)
		}
		err = errors.New(strings.Join(all, "; "))
	}
	return judge("pauses", warn, "nothing is paused", err, "fanfold resume listener NAME, or report NAME, ends one")
}

func atLeast7(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return fmt.Errorf("version %q is older than 7.0", version)
	}
	return nil
}

func judgeSkew(check string, now time.Time, err error) finding {
	skew := time.Since(now).Abs().Round(time.Millisecond)
	if err == nil && skew > maxSkew {
		err = fmt.Errorf("%v apart from this machine", skew)
	}
	return judge(check, warn, fmt.Sprintf("within %v of this machine", maxSkew), err, "run NTP on both")
}

func (b *backend) checkEviction(policy string) finding {
	var err error
	if policy != "noeviction" {
		err = fmt.Errorf("maxmemory-policy is %s: Redis may drop the keys of running jobs", policy)
	}
	return judge("redis eviction", fail, policy, err, "maxmemory-policy noeviction, in a Redis of Fanfold's own")
}

// checkNotifications looks for the events that the scheduler can use.
func (b *backend) checkNotifications(ctx context.Context) finding {
	const check, hint = "redis notifications", "notify-keyspace-events Kgz$x; without them Fanfold looks once a second"
	values, err := b.redis.ConfigGet(ctx, "notify-keyspace-events").Result()
	if err != nil {
		return judge(check, warn, "", fmt.Errorf("CONFIG GET is refused: %w", err), hint)
	}
	have := values["notify-keyspace-events"]
	for _, flag := range "Kgz$x" {
		if !strings.ContainsRune(have, flag) && (strings.ContainsRune("KE", flag) || !strings.ContainsRune(have, 'A')) {
			return judge(check, warn, "", fmt.Errorf("%q lacks %q", have, flag), hint)
		}
	}
	return finding{Check: check, Result: pass, Detail: have}
}

// checkStreams tells of streams that nobody reads, or that pile up.
func (b *backend) checkStreams(ctx context.Context) findings {
	names := []string{b.scripts.Jobs(), b.scripts.FanIn(), b.scripts.Fired()}
	services := map[string]time.Duration{} // streams that an external service reads → its silence
	for _, r := range b.config.Reports {
		for _, s := range r.Stages {
			for _, l := range s.Listeners {
				names = append(names, b.scripts.Task(l.Name))
				if l.Kind == report.External {
					services[b.scripts.Task(l.Name)] = max(services[b.scripts.Task(l.Name)], l.Silence)
				}
			}
		}
	}
	if len(services) > 0 {
		names = append(names, b.scripts.Reply())
	}
	slices.Sort(names)
	var fs findings
	for _, name := range slices.Compact(names) {
		reader, silence := "fanfold serve", b.config.Limits.Lease
		if of := services[name]; of > 0 {
			reader, silence = "the service of this listener", of
		}
		fs = append(fs, b.checkStream(ctx, name, reader, silence))
	}
	return fs
}

func (b *backend) checkStream(ctx context.Context, name, reader string, silence time.Duration) finding {
	check := "stream " + name
	groups, err := b.redis.XInfoGroups(ctx, name).Result()
	if err != nil && strings.Contains(err.Error(), "no such key") {
		return finding{Check: check, Result: pass, Detail: "not there yet: fanfold serve makes it"}
	} else if err != nil {
		return judge(check, fail, "", err, "is this key something else than a stream?")
	}
	length, err := b.redis.XLen(ctx, name).Result()
	if err != nil {
		return judge(check, fail, "", err, "")
	}
	for _, g := range groups {
		if g.Name != scripts.Group {
			continue
		}
		detail := fmt.Sprintf("%d entries, %d of them in work, %d consumers", length, g.Pending, g.Consumers)
		if g.Consumers == 0 && length > 0 {
			return judge(check, warn, detail, errors.New(detail), "nobody reads it: start "+reader)
		}
		waits, err := b.unread(ctx, name, g.LastDeliveredID, silence)
		if err != nil {
			return judge(check, fail, "", err, "")
		}
		if waits > unreadAfter {
			err = fmt.Errorf("%s; none of them reads, and the oldest entry has waited for %s", detail, short(waits))
		}
		return judge(check, warn, detail, err, "is it still running? Start "+reader+", or look at its log")
	}
	return finding{Check: check, Result: pass, Detail: fmt.Sprintf("%d entries, no group yet: fanfold serve makes it", length)}
}

// unreadAfter is how long an entry may wait that nobody has read, although there are
// consumers: those that wait for entries get it at once.
const unreadAfter = 3 * time.Second

// unread is how long the oldest entry has waited that no consumer has read, where none of
// them has been heard lately; 0 where there is none. A consumer that works is heard within
// its silence.
func (b *backend) unread(ctx context.Context, name, last string, silence time.Duration) (time.Duration, error) {
	entries, err := b.redis.XRangeN(ctx, name, "("+last, "+", 1).Result()
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	consumers, err := b.redis.XInfoConsumers(ctx, name, scripts.Group).Result()
	if err != nil {
		return 0, err
	}
	for _, c := range consumers {
		if c.Idle < unreadAfter || c.Pending > 0 && c.Idle < silence {
			return 0, nil
		}
	}
	now, err := b.redis.Time(ctx).Result()
	return now.Sub(entryTime(entries[0].ID)), err
}

// checkRedisMemory compares the memory in use with maxmemory.
func (b *backend) checkRedisMemory(memory map[string]string) finding {
	const check, hint = "redis memory", "give Redis more maxmemory, or let running jobs end; limits.running_jobs and limits.job_bytes bound what they use"
	used, usedErr := strconv.ParseInt(memory["used_memory"], 10, 64)
	most, mostErr := strconv.ParseInt(memory["maxmemory"], 10, 64)
	if err := errors.Join(usedErr, mostErr); err != nil {
		return judge(check, warn, "", fmt.Errorf("INFO memory does not say it: %w", err), "")
	}
	if most == 0 {
		return finding{Check: check, Result: pass, Detail: fmt.Sprintf("%d MB used, without maxmemory", used>>20)}
	}
	percent := used * 100 / most
	detail, result := fmt.Sprintf("%d %% of maxmemory (%d MB) are used", percent, most>>20), warn
	var err error
	switch {
	case percent >= 100:
		err, result = errors.New(detail+": Redis refuses writes, pushes too"), fail
	case percent > int64(b.config.Limits.Memory):
		err = fmt.Errorf("%s: above limits.memory (%d %%) no job is started", detail, b.config.Limits.Memory)
	}
	return judge(check, result, detail, err, hint)
}

// checkTimersDue tells of timers that are overdue, and of those that no definition matches.
func (b *backend) checkTimersDue(ctx context.Context) finding {
	const check = "timers"
	now, err := b.redis.Time(ctx).Result()
	var undefined, overdue []string
	for _, paused := range []bool{false, true} {
		if err != nil {
			break
		}
		var found []scripts.DueTimer
		found, err = b.scripts.ListTimers(ctx, paused, "*", 1000)
		for _, t := range found {
			due := now.Sub(dueTime(t)) > missed && t.Finite
			if _, _, ok := b.config.Timers.Match(t.Name); !ok && (due || paused) {
				undefined = append(undefined, t.Name)
			} else if due && !paused {
				overdue = append(overdue, t.Name)
			}
		}
	}
	switch {
	case err != nil:
	case len(undefined) > 0:
		return judge(check, warn, "", fmt.Errorf("%d timers are due that no definition matches, such as %s: they do not fire", len(undefined), undefined[0]),
			"correct the key of a definition in timers, or fanfold timer rm removes them")
	case len(overdue) > 0:
		return judge(check, warn, "", fmt.Errorf("%d timers are overdue, such as %s", len(overdue), overdue[0]), schedulerMissing)
	}
	return judge(check, warn, "none is overdue", err, "")
}
