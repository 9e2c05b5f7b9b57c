package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// maxSkew is the maximum difference of clocks without a warning. Only people see the difference:
// Fanfold decides by the clock of Redis.
const maxSkew = 2 * time.Second

// checkServers checks every Redis server.
func checkServers(ctx context.Context, d *doctor) (all Findings) {
	servers, err := d.Scripts.Servers(ctx)
	if err != nil {
		return Findings{newFinding("redis", Fail, "", err, d.hint(err))}
	}
	for _, server := range servers {
		found := checkServer(ctx, d, server)
		for i := range found {
			if len(servers) > 1 {
				found[i].Check += " of " + server.Address()
			}
		}
		all = append(all, found...)
	}
	return all
}

// checkScripts loads all scripts into the server.
func checkScripts(ctx context.Context, d *doctor) Finding {
	home := d.Scripts.First()
	err, detail := home.Load(ctx), "all scripts load"
	if home.Plain() {
		detail += " without their first line, #!lua, which this server refuses: it does not check the keys of scripts"
	}
	return newFinding("redis scripts", Fail, detail, err, "allow this user EVALSHA and SCRIPT LOAD")
}

// hint returns the remedy for a server that does not answer.
func (d *doctor) hint(err error) string {
	return cmp.Or(redisdb.Hint(d.Config.Redis, err), "check that the addresses are correct and the servers run")
}

// checkServer checks one server.
func checkServer(ctx context.Context, d *doctor, of scripts.Server) Findings {
	info, err := of.Info(ctx, "server", "memory", "persistence", "clients")
	server := info["Server"]
	if err != nil {
		return Findings{newFinding("redis", Fail, "", err, d.hint(err))}
	}
	if err := redisdb.CheckMode(d.Config.Redis, server); err != nil {
		return Findings{newFinding("redis", Fail, "", err, "correct redis in the configuration")}
	}
	fs := Findings{
		newFinding("redis version", Fail, serverName(server), atLeast7(server["redis_version"]),
			"Fanfold needs Redis 7.0 or later"),
	}
	now, err := of.Now(ctx)
	fs = append(fs, checkSkew("redis clock", now, err))
	fs = append(fs, checkClients(info["Clients"]), checkEviction(info["Memory"]["maxmemory_policy"]),
		checkRedisMemory(info["Memory"], d.Config.Limits))
	if info["Persistence"]["aof_enabled"] == "1" {
		fs = append(fs, pass("redis persistence", "append-only file"))
	} else {
		fs = append(fs, Finding{
			Check: "redis persistence", Result: Warn, Detail: "no append-only file: a restart loses the state of running " +
				"jobs, which then start again",
			Hint: "set appendonly yes and appendfsync everysec",
		})
	}
	return append(fs, checkNotifications(ctx, d, of))
}

// serverName returns the kind and version of a server, from INFO. Servers other than Redis also give
// the version of Redis that they are compatible with.
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
		err = fmt.Errorf("it differs by %v from the clock of this machine", skew)
	}
	return newFinding(check, Warn, fmt.Sprintf("within %v of this machine", maxSkew), err, "run NTP on both machines")
}

// clientsLeft is how many connections should be free: as many as a process with one partition and two
// cores opens.
const clientsLeft = 40

// checkClients compares the connections of all clients with maxclients. A server that has reached it
// closes new connections, which looks like an outage.
func checkClients(clients map[string]string) Finding {
	const check = "redis connections"
	connected, connectedErr := strconv.Atoi(clients["connected_clients"])
	limit, limitErr := strconv.Atoi(clients["maxclients"])
	if connectedErr != nil || limitErr != nil {
		return pass(check, "INFO clients does not say how many are allowed")
	}
	detail := fmt.Sprintf("%d of maxclients %d", connected, limit)
	var err error
	if limit-connected < clientsLeft {
		err = fmt.Errorf("%s: another process may not get the connections that it needs", detail)
	}
	return newFinding(check, Warn, detail, err, "raise maxclients: a process needs up to 18 connections per partition "+
		"and 10 per core")
}

func checkEviction(policy string) Finding {
	const check, hint = "redis eviction", "set maxmemory-policy noeviction, in a Redis that only Fanfold uses"
	if policy == "" {
		return newFinding(check, Warn, "", errors.New("INFO memory does not contain maxmemory_policy"), hint)
	}
	var err error
	if policy != "noeviction" {
		err = fmt.Errorf("maxmemory-policy is %s: Redis may delete the keys of running jobs", policy)
	}
	return newFinding(check, Fail, policy, err, hint)
}

// checkRedisMemory compares the memory in use with maxmemory.
func checkRedisMemory(memory map[string]string, limits report.Limits) Finding {
	const check = "redis memory"
	hint := "raise maxmemory, or wait for running jobs to end; limits.running_jobs and limits.job_bytes limit their memory"
	used, usedErr := strconv.ParseInt(memory["used_memory"], 10, 64)
	limit, limitErr := strconv.ParseInt(memory["maxmemory"], 10, 64)
	if err := errors.Join(usedErr, limitErr); err != nil {
		return newFinding(check, Warn, "", fmt.Errorf("INFO memory does not contain it: %w", err), "")
	}
	if limit == 0 {
		return newFinding(check, Warn, "",
			fmt.Errorf("%s used, without maxmemory: the system may kill Redis before it "+
				"is full, and limits.redis_memory_percent has no effect", words.Bytes(used)),
			"set maxmemory to about two thirds of the memory that Redis may use, as redis.conf explains")
	}
	percent := used * 100 / limit
	detail, result := fmt.Sprintf("%d %% of maxmemory (%s) is used", percent, words.Bytes(limit)), Warn
	var err error
	switch {
	case percent >= 100:
		err, result = errors.New(detail+": Redis refuses writes, including pushes"), Fail
	case percent > int64(limits.RedisMemoryPercent):
		err = fmt.Errorf("%s: no job starts above limits.redis_memory_percent (%d %%)", detail, limits.RedisMemoryPercent)
	case limits.JobBytes > limit:
		err = fmt.Errorf("%s, and limits.job_bytes (%s) is more: a job that fills Redis fails", detail,
			words.Bytes(limits.JobBytes))
		hint = "lower limits.job_bytes below maxmemory, or raise maxmemory"
	}
	return newFinding(check, result, detail, err, hint)
}

// checkNotifications checks that the server publishes the events that the scheduler uses.
func checkNotifications(ctx context.Context, d *doctor, server scripts.Server) Finding {
	const check = "redis notifications"
	missing, has, err := server.Unpublished(ctx)
	if err != nil {
		return newFinding(check, Warn, "", fmt.Errorf("could not be tested: %w", err),
			"allow this user SUBSCRIBE, ZADD, SET and DEL, and check that Redis is not full")
	}
	if !has {
		return pass(check, "this server has no partition")
	}
	if len(missing) > 0 {
		err = fmt.Errorf("not published: %s", strings.Join(missing, ", "))
	}
	return newFinding(check, Warn, "expired, del, set and zadd are published", err,
		"fanfold serve turns them on if it may use CONFIG SET; otherwise set notify-keyspace-events Kgz$x yourself, such "+
			"as in the parameters of a managed server. Without them, Fanfold polls once a second")
}
