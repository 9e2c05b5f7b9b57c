package why

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/scripts"
)

// commands returns shell commands that show the facts behind a verdict.
func (f *facts) commands(v Verdict) []string {
	k := f.Keys
	job := shell(k.Job(f.ID))
	if f.RedisErr != nil {
		return []string{f.CLI + " PING"}
	}
	var lines []string
	add := func(format string, args ...any) {
		if line := f.CLI + " " + fmt.Sprintf(format, args...); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	switch {
	case f.Job == nil:
	case f.Job.Deadline.IsZero(): // it has ended
		add("GET %s", shell(k.Ended(f.ID)))
	default:
		add("HMGET %s job queryDoneCount queryTarget", job)
		add("ZSCORE %s %s", shell(k.Deadlines), f.ID)
	}
	for _, s := range v.Steps {
		key := f.Queues[s.Name].Key
		add("HMGET %s %s %s %s", job, shell(s.Name+":tries"), shell(s.Name+":error"), shell(s.Name+":next"))
		if d := f.retry(s.Name); d != nil {
			add("ZSCORE %s %s", shell(k.Delayed), shell(d.Member))
		}
		if len(f.Queues[s.Name].Consumers) > 0 {
			add("XINFO CONSUMERS %s %s", shell(key), scripts.Group)
			add("XPENDING %s %s - + 10", shell(key), scripts.Group)
		}
		add("XRANGE %s - + COUNT 10", shell(key))
	}
	if len(v.Steps) > 0 {
		return lines
	}
	for _, d := range f.Delayed {
		add("ZSCORE %s %s", shell(k.Delayed), shell(d.Member))
	}
	switch v.Kind {
	case KindQuarantined:
		add("XREVRANGE %s + - COUNT 10", shell(k.Quarantined))
	case KindEnded:
		add("ZSCORE %s %s", shell(k.Dead), f.ID)
	case KindQueued, KindNoRoom, KindNoWorker, KindStarting, KindWorkerDead:
		add("XLEN %s", shell(k.Jobs))
		add("ZCARD %s", shell(k.Deadlines))
		if len(f.Jobs.Consumers) > 0 {
			add("XINFO CONSUMERS %s %s", shell(k.Jobs), scripts.Group)
		}
	default:
		add("EXISTS %s", job)
		add("ZSCORE %s %s", shell(k.Delayed), f.ID)
		add("XRANGE %s - + COUNT 10", shell(k.Jobs))
	}
	return lines
}

// redisCLI returns the start of a redis-cli command for a server. It contains no password:
// redis-cli takes it from REDISCLI_AUTH.
func redisCLI(o redisdb.Where) string {
	line := "redis-cli"
	if o.Network == "unix" {
		line += " -s " + shell(o.Addr)
	} else if host, port, err := net.SplitHostPort(o.Addr); err == nil {
		if host != "localhost" && host != "127.0.0.1" {
			line += " -h " + shell(host)
		}
		if port != "6379" {
			line += " -p " + port
		}
	}
	if o.TLS {
		line += " --tls"
	}
	if o.Username != "" {
		line += " --user " + shell(o.Username)
	}
	if o.DB != 0 {
		line += " -n " + strconv.Itoa(o.DB)
	}
	return line
}

// shell quotes a word for a shell if necessary.
func shell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-.:/@,+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
