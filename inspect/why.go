package inspect

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Kind is what keeps a job, in a word that programs can rely on.
type Kind string

// The kinds of a verdict. Those of steps are in the order in which they matter:
// the first one of a job's steps is the job's.
const (
	KindRedisAway     Kind = "redis-away"     // nothing can go on
	KindWrongType     Kind = "wrong-type"     // another key stands where one of Fanfold's should be
	KindRecordsAway   Kind = "records-away"   // the records' database does not answer
	KindSourceAway    Kind = "source-away"    // the database or the API of a listener does not answer
	KindSourceRefuses Kind = "source-refuses" // the database of a listener refuses the login
	KindPaused        Kind = "paused"         // what it waits for is paused
	KindNoDefinition  Kind = "no-definition"  // no process has the definition that it was started with
	KindNoScheduler   Kind = "no-scheduler"   // something was due and was not moved
	KindNoWorker      Kind = "no-worker"      // its stream has no reader
	KindWorkerDead    Kind = "worker-dead"    // who had it is silent
	KindRetryWaiting  Kind = "retry-waiting"  // it failed and will be tried again
	KindSinkFails     Kind = "sink-fails"     // the file could not be made, and will be tried again
	KindLost          Kind = "lost"           // nothing in Redis leads to it
	KindQueued        Kind = "queued"         // others are before it
	KindWaiting       Kind = "waiting"        // for a third party, such as a vendor's job
	KindRunning       Kind = "running"        // a worker has it
	KindBarrier       Kind = "barrier"        // others are done, and it is waited for
	KindFolding       Kind = "folding"        // the file is being made
	KindEnding        Kind = "ending"         // the record gets its final status
	KindNotPushed     Kind = "not-pushed"     // its id was not pushed
	KindNoRoom        Kind = "no-room"        // as many jobs run as may
	KindStarting      Kind = "starting"       // the trigger has it
	KindDelayed       Kind = "delayed"        // it was pushed for later
	KindLooking       Kind = "looking"        // the trigger polls for its record
	KindQuarantined   Kind = "quarantined"    // it was put aside
	KindStateless     Kind = "stateless"      // PROCESSING, and Redis knows nothing of it
	KindBrokenState   Kind = "broken-state"   // the key of the state is something else
	KindSuperseded    Kind = "superseded"     // the record has another attempt than the state
	KindEnded         Kind = "ended"          // the record is final
	KindNoRecord      Kind = "no-record"      // no such row, and no trace of the id
	KindOtherID       Kind = "other-id"       // the database finds a row that has another id
	KindUnknownReport Kind = "unknown-report" // not in this configuration
)

// Verdict is the answer to why a job is not done.
type Verdict struct {
	Now      time.Time     `json:"-"` // by the clock that times are compared with
	ID       string        `json:"id"`
	Kind     Kind          `json:"kind"`
	Summary  string        `json:"summary"` // one sentence
	Details  []string      `json:"details,omitempty"`
	Status   report.Status `json:"status,omitempty"` // of the record; empty where it is not known
	Report   string        `json:"report,omitempty"`
	Attempt  int64         `json:"attempt,omitempty"`
	Job      string        `json:"job,omitempty"` // status of the state
	Stage    int64         `json:"stage,omitempty"`
	Steps    []Step        `json:"steps,omitempty"`
	Upcoming []Upcoming    `json:"upcoming,omitempty"` // by time
	Remedies []string      `json:"remedies,omitempty"`
	Commands []string      `json:"commands,omitempty"` // for a shell; they show the same
}

// Step is a part of a job that is not done.
type Step struct {
	Name  string    `json:"name"` // of the listener, or @fanin
	Kind  Kind      `json:"kind"`
	Says  string    `json:"says"`
	Try   int64     `json:"try"`             // that runs, ran last, or comes next
	Tries int       `json:"tries,omitempty"` // maximum; 0: not known here, or without limit
	Owner string    `json:"owner,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Lease time.Time `json:"lease,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	Error string    `json:"error,omitempty"` // of the last try that failed
}

// Upcoming is something that will happen by itself.
type Upcoming struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// Why says what keeps a job. A server that is away is an answer, and no error.
func (in *Inspector) Why(ctx context.Context, id string) (Verdict, error) {
	v := diagnose(gather(ctx, in, id))
	if v.Kind == KindLost || v.Kind == KindNotPushed {
		// What moved during the search is not lost: search once more.
		v = diagnose(gather(ctx, in, id))
	}
	return v, ctx.Err()
}

// Stamp writes a time for people: theirs, with its zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// When says how far a time is from now.
func When(at, now time.Time) string {
	d := at.Sub(now)
	if d < 0 {
		return short(-d) + " ago"
	}
	return "in " + short(d)
}

// short is a duration that people can read.
func short(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// behind says how many are before it.
func behind(n int64) string {
	switch n {
	case 0:
		return " as the next one"
	case 1:
		return " behind 1 other"
	}
	return fmt.Sprintf(" behind %d others", n)
}

// after puts something between two texts, unless the second is empty.
func after(between, text string) string {
	if text == "" {
		return ""
	}
	return between + text
}

// commands are the lines for a shell that show what a verdict is about.
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
		add("ZSCORE %s %s", shell(k.Deadlines()), f.ID)
	}
	for _, s := range v.Steps {
		key := f.stream(s.Name)
		add("HMGET %s %s %s %s", job, shell(s.Name+":tries"), shell(s.Name+":error"), shell(s.Name+":next"))
		if d := f.retry(s.Name); d != nil {
			add("ZSCORE %s %s", shell(k.Delayed()), shell(d.Member))
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
		add("ZSCORE %s %s", shell(k.Delayed()), shell(d.Member))
	}
	switch v.Kind {
	case KindQuarantined:
		add("XREVRANGE %s + - COUNT 10", shell(k.Quarantined()))
	case KindEnded:
		add("ZSCORE %s %s", shell(k.Dead()), f.ID)
	case KindQueued, KindNoRoom, KindNoWorker, KindStarting, KindWorkerDead:
		add("XLEN %s", shell(k.Jobs()))
		add("ZCARD %s", shell(k.Deadlines()))
		if len(f.Jobs.Consumers) > 0 {
			add("XINFO CONSUMERS %s %s", shell(k.Jobs()), scripts.Group)
		}
	default:
		add("EXISTS %s", job)
		add("ZSCORE %s %s", shell(k.Delayed()), f.ID)
		add("XRANGE %s - + COUNT 10", shell(k.Jobs()))
	}
	return lines
}

// redisCLI begins a command for the server that a client is for. A password is not in
// it: redis-cli takes it from REDISCLI_AUTH.
func redisCLI(o *redis.Options) string {
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
	if o.TLSConfig != nil {
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

// shell quotes a word for a shell where that is needed.
func shell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:/@,+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
