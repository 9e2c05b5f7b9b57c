package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

func (in *Inspector) checkRedis(ctx context.Context) Findings {
	info, err := in.redis.InfoMap(ctx, "server", "memory", "persistence").Result()
	if err != nil {
		return Findings{newFinding("redis", Fail, "", err, "is the URL right, and the server up?")}
	}
	server := info["Server"]
	fs := Findings{
		newFinding("redis version", Fail, server["redis_version"], atLeast7(server["redis_version"]), "Fanfold needs Redis 7.0 or later"),
	}
	now, err := in.redis.Time(ctx).Result()
	fs = append(fs, checkSkew("redis clock", now, err))
	fs = append(fs, in.checkEviction(info["Memory"]["maxmemory_policy"]), in.checkRedisMemory(info["Memory"]))
	if info["Persistence"]["aof_enabled"] == "1" {
		fs = append(fs, Finding{Check: "redis persistence", Result: Pass, Detail: "append-only file"})
	} else {
		fs = append(fs, Finding{
			Check: "redis persistence", Result: Warn, Detail: "no append-only file: running jobs are lost with a restart",
			Hint: "appendonly yes, appendfsync everysec",
		})
	}
	fs = append(fs, in.checkNotifications(ctx))
	fs = append(fs, newFinding("redis scripts", Fail, "all scripts load", in.scripts.Load(ctx), "may this user run EVALSHA and SCRIPT LOAD?"))
	fs = append(fs, in.checkPauses(ctx), in.checkDefinitions(ctx), in.checkQuarantine(ctx), in.checkTimersDue(ctx))
	return append(fs, in.checkStreams(ctx)...)
}

// checkPauses names what is paused: somebody may have forgotten it.
func (in *Inspector) checkPauses(ctx context.Context) Finding {
	list, err := in.Pauses(ctx)
	if err == nil && len(list) > 0 {
		var all []string
		for _, p := range list {
			text := p.What + " is paused since " + Stamp(p.Since)
			if p.Waiting > 0 {
				text += fmt.Sprintf(", %d ids wait", p.Waiting)
			}
			all = append(all, text)
		}
		err = errors.New(strings.Join(all, "; "))
	}
	return newFinding("pauses", Warn, "nothing is paused", err, "fanfold resume listener NAME, or report NAME, ends one")
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

func (in *Inspector) checkEviction(policy string) Finding {
	var err error
	if policy != "noeviction" {
		err = fmt.Errorf("maxmemory-policy is %s: Redis may drop the keys of running jobs", policy)
	}
	return newFinding("redis eviction", Fail, policy, err, "maxmemory-policy noeviction, in a Redis of Fanfold's own")
}

// checkNotifications looks for the events that the scheduler can use.
func (in *Inspector) checkNotifications(ctx context.Context) Finding {
	const check, hint = "redis notifications", "notify-keyspace-events Kgz$x; without them Fanfold looks once a second"
	values, err := in.redis.ConfigGet(ctx, "notify-keyspace-events").Result()
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

// checkStreams tells of streams that nobody reads, or that pile up.
func (in *Inspector) checkStreams(ctx context.Context) Findings {
	names := []string{in.scripts.Jobs(), in.scripts.FanIn(), in.scripts.Fired()}
	services := map[string]time.Duration{} // streams that an external service reads → its silence
	for _, r := range in.config.Reports {
		for _, s := range r.Stages {
			for _, l := range s.Listeners {
				names = append(names, in.scripts.Task(l.Name))
				if l.Kind == report.External {
					services[in.scripts.Task(l.Name)] = max(services[in.scripts.Task(l.Name)], l.Silence)
				}
			}
		}
	}
	if len(services) > 0 {
		names = append(names, in.scripts.Reply())
	}
	slices.Sort(names)
	var fs Findings
	for _, name := range slices.Compact(names) {
		reader, silence := "fanfold serve", in.config.Limits.Lease
		if of := services[name]; of > 0 {
			reader, silence = "the service of this listener", of
		}
		fs = append(fs, in.checkStream(ctx, name, reader, silence))
	}
	return fs
}

func (in *Inspector) checkStream(ctx context.Context, name, reader string, silence time.Duration) Finding {
	check := "stream " + name
	groups, err := in.redis.XInfoGroups(ctx, name).Result()
	if err != nil && strings.Contains(err.Error(), "no such key") {
		return Finding{Check: check, Result: Pass, Detail: "not there yet: fanfold serve makes it"}
	} else if err != nil {
		return newFinding(check, Fail, "", err, "is this key something else than a stream?")
	}
	length, err := in.redis.XLen(ctx, name).Result()
	if err != nil {
		return newFinding(check, Fail, "", err, "")
	}
	for _, g := range groups {
		if g.Name != scripts.Group {
			continue
		}
		detail := fmt.Sprintf("%d entries, %d of them in work, %d consumers", length, g.Pending, g.Consumers)
		if g.Consumers == 0 && length > 0 {
			return newFinding(check, Warn, detail, errors.New(detail), "nobody reads it: start "+reader)
		}
		waits, err := in.unread(ctx, name, g.LastDeliveredID, silence)
		if err != nil {
			return newFinding(check, Fail, "", err, "")
		}
		if waits > unreadAfter {
			err = fmt.Errorf("%s; none of them reads, and the oldest entry has waited for %s", detail, short(waits))
		}
		return newFinding(check, Warn, detail, err, "is it still running? Start "+reader+", or look at its log")
	}
	return Finding{Check: check, Result: Pass, Detail: fmt.Sprintf("%d entries, no group yet: fanfold serve makes it", length)}
}

// unreadAfter is how long an entry may wait that nobody has read, although there are
// consumers: those that wait for entries get it at once.
const unreadAfter = 3 * time.Second

// unread is how long the oldest entry has waited that no consumer has read, where none of
// them has been heard lately; 0 where there is none. A consumer that works is heard within
// its silence.
func (in *Inspector) unread(ctx context.Context, name, last string, silence time.Duration) (time.Duration, error) {
	entries, err := in.redis.XRangeN(ctx, name, "("+last, "+", 1).Result()
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	consumers, err := in.redis.XInfoConsumers(ctx, name, scripts.Group).Result()
	if err != nil {
		return 0, err
	}
	for _, c := range consumers {
		if c.Idle < unreadAfter || c.Pending > 0 && c.Idle < silence {
			return 0, nil
		}
	}
	now, err := in.redis.Time(ctx).Result()
	return now.Sub(entryTime(entries[0].ID)), err
}

// checkRedisMemory compares the memory in use with maxmemory.
func (in *Inspector) checkRedisMemory(memory map[string]string) Finding {
	const check, hint = "redis memory", "give Redis more maxmemory, or let running jobs end; limits.running_jobs and limits.job_bytes bound what they use"
	used, usedErr := strconv.ParseInt(memory["used_memory"], 10, 64)
	most, mostErr := strconv.ParseInt(memory["maxmemory"], 10, 64)
	if err := errors.Join(usedErr, mostErr); err != nil {
		return newFinding(check, Warn, "", fmt.Errorf("INFO memory does not say it: %w", err), "")
	}
	if most == 0 {
		return Finding{Check: check, Result: Pass, Detail: fmt.Sprintf("%d MB used, without maxmemory", used>>20)}
	}
	percent := used * 100 / most
	detail, result := fmt.Sprintf("%d %% of maxmemory (%d MB) are used", percent, most>>20), Warn
	var err error
	switch {
	case percent >= 100:
		err, result = errors.New(detail+": Redis refuses writes, pushes too"), Fail
	case percent > int64(in.config.Limits.Memory):
		err = fmt.Errorf("%s: above limits.memory (%d %%) no job is started", detail, in.config.Limits.Memory)
	}
	return newFinding(check, result, detail, err, hint)
}

// checkTimersDue tells of timers that are overdue, and of those that no definition matches.
func (in *Inspector) checkTimersDue(ctx context.Context) Finding {
	const check = "timers"
	now, err := in.redis.Time(ctx).Result()
	var undefined, overdue []string
	for _, paused := range []bool{false, true} {
		if err != nil {
			break
		}
		var found []scripts.DueTimer
		found, err = in.scripts.ListTimers(ctx, paused, "*", 1000)
		for _, t := range found {
			due := now.Sub(dueTime(t)) > missed && t.Finite
			if _, _, ok := in.config.Timers.Match(t.Name); !ok && (due || paused) {
				undefined = append(undefined, t.Name)
			} else if due && !paused {
				overdue = append(overdue, t.Name)
			}
		}
	}
	switch {
	case err != nil:
	case len(undefined) > 0:
		return newFinding(check, Warn, "", fmt.Errorf("%d timers are due that no definition matches, such as %s: they do not fire", len(undefined), undefined[0]),
			"correct the key of a definition in timers, or fanfold timer rm removes them")
	case len(overdue) > 0:
		return newFinding(check, Warn, "", fmt.Errorf("%d timers are overdue, such as %s", len(overdue), overdue[0]), schedulerMissing)
	}
	return newFinding(check, Warn, "none is overdue", err, "")
}

// checkDefinitions counts the running jobs whose definition no process has.
func (in *Inspector) checkDefinitions(ctx context.Context) Finding {
	found, seen, err := in.scripts.Orphans(ctx)
	if err == nil && len(found) > 0 && seen.AnyLive() {
		counts := map[string]int{}
		for _, o := range found {
			counts[o.Report]++
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			all = append(all, fmt.Sprintf("%s: %d", name, counts[name]))
		}
		err = fmt.Errorf("no process has the definition of running jobs (%s), such as %s: they stand still until their deadlines, or until on_change: restart of their reports starts them anew", strings.Join(all, ", "), found[0].ID)
	}
	return newFinding("definitions of running jobs", Warn, "processes have them", err, "start a process with the configuration as it was, or fanfold adopt --all restarts them with today's")
}

// checkQuarantine tells of entries that were put aside.
func (in *Inspector) checkQuarantine(ctx context.Context) Finding {
	n, err := in.redis.XLen(ctx, in.scripts.Quarantined()).Result()
	if err == nil && n > 0 {
		var newest []Quarantined
		if newest, err = in.Quarantine(ctx, func(Quarantined) bool { return true }, 1); err == nil && len(newest) > 0 {
			err = fmt.Errorf("%d entries could not be used, the newest %s: %s", n, Stamp(newest[0].At), newest[0].Reason)
		}
	}
	return newFinding("quarantine", Warn, "it is empty", err, "fanfold quarantine ls lists them; fanfold quarantine rm removes what is dealt with")
}
