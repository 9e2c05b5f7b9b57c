package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/scripts"
	"github.com/redis/go-redis/v9"
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

// checkPartitions says on which master each partition is, and whether one has many more than others.
func (d redisDoctor) checkPartitions(ctx context.Context, masters int) Finding {
	const check = "redis partitions"
	n := len(d.Scripts)
	on, err := d.spread(ctx, n)
	if err != nil {
		return newFinding(check, Warn, "", err, d.hint(err))
	}
	var parts []string
	for _, address := range slices.Sorted(maps.Keys(on)) {
		parts = append(parts, address+" has "+strings.Join(on[address], " "))
	}
	where := strings.Join(parts, "; ")
	most := largest(on)
	if even(most, n, masters) {
		return pass(check, where)
	}
	hint := "that master works more than the others: move the slot of a partition"
	for other := n + 1; other <= 4*n+masters; other++ {
		on, err := d.spread(ctx, other)
		if err == nil && even(largest(on), other, masters) {
			hint += fmt.Sprintf(", or take %d partitions, of which no master has more than %d", other, largest(on))
			break
		}
	}
	return newFinding(check, Warn, "", fmt.Errorf("%d of %d partitions are on one of %d masters: %s", most, n, masters, where), hint)
}

// spread returns the tags that each master would have of n partitions, by its address.
func (d redisDoctor) spread(ctx context.Context, n int) (map[string][]string, error) {
	on := map[string][]string{}
	begin := strings.TrimSuffix(d.Scripts.Home().Keys.Prefix, "0}:")
	for i := range n {
		tag := begin + strconv.Itoa(i) + "}"
		master, err := redisdb.Master(ctx, d.Redis, tag)
		if err != nil {
			return nil, err
		}
		address := master.Options().Addr
		on[address] = append(on[address], tag)
	}
	return on, nil
}

func largest(on map[string][]string) (most int) {
	for _, tags := range on {
		most = max(most, len(tags))
	}
	return most
}

// even tells whether the master that has most of n partitions has at most a fifth more than its share.
func even(most, n, masters int) bool { return 5*most*masters <= 6*n }

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
	return append(fs, d.checkNotifications(ctx, client))
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

// checkPauses names what is paused: a pause may be forgotten.
func (d redisDoctor) checkPauses(ctx context.Context) Finding {
	list, err := d.in.Pauses(ctx)
	if err == nil && len(list) > 0 {
		var all []string
		for _, p := range list {
			text := p.What + " is paused since " + inspect.Stamp(p.Since)
			if p.Waiting > 0 {
				text += fmt.Sprintf(", %d ids wait", p.Waiting)
			}
			all = append(all, text)
		}
		err = errors.New(strings.Join(all, "; "))
	}
	return newFinding("pauses", Warn, "nothing is paused", err, "fanfold resume listener NAME, or report NAME, ends one")
}

// checkDefinitions counts the running jobs whose definition no process has.
func (d redisDoctor) checkDefinitions(ctx context.Context) Finding {
	var found []scripts.Orphan
	var seen scripts.Seen
	var err error
	for _, s := range d.Scripts {
		some, known, failed := s.Definitions.Orphans(ctx)
		found, seen, err = append(found, some...), known, cmp.Or(err, failed)
	}
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
func (d redisDoctor) checkQuarantine(ctx context.Context) Finding {
	var n int64
	var err error
	for _, s := range d.Scripts {
		some, failed := d.Redis.XLen(ctx, s.Keys.Quarantined()).Result()
		n, err = n+some, cmp.Or(err, failed)
	}
	if err == nil && n > 0 {
		var newest []inspect.Quarantined
		if newest, err = d.in.Quarantine(ctx, func(inspect.Quarantined) bool { return true }, 1); err == nil && len(newest) > 0 {
			err = fmt.Errorf("%d entries could not be used, the newest %s: %s", n, inspect.Stamp(newest[0].At), newest[0].Reason)
		}
	}
	return newFinding("quarantine", Warn, "it is empty", err, "fanfold quarantine ls lists them; fanfold quarantine rm removes what is dealt with")
}

// maxTimers is how many timers are looked at, the next ones first.
const maxTimers = 2000

// checkTimersDue tells of timers that are overdue, and of those that no definition matches.
func (d redisDoctor) checkTimersDue(ctx context.Context) Finding {
	const check = "timers"
	all, err := d.in.Timers(ctx, func(string) bool { return true }, maxTimers)
	var undefined, overdue []string
	for _, t := range all {
		switch t.State {
		case "paused, no definition", "overdue, no definition":
			undefined = append(undefined, t.Name)
		case "overdue":
			overdue = append(overdue, t.Name)
		}
	}
	switch {
	case len(undefined) > 0:
		err = fmt.Errorf("%d timers are due that no definition matches, such as %s: they do not fire", len(undefined), undefined[0])
		return newFinding(check, Warn, "", err, "correct the key of a definition in timers, or fanfold timer rm removes them")
	case len(overdue) > 0:
		err = fmt.Errorf("%d timers are overdue, such as %s", len(overdue), overdue[0])
		return newFinding(check, Warn, "", err, inspect.SchedulerMissing)
	}
	return newFinding(check, Warn, "none is overdue", err, "")
}
