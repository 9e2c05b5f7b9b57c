package functions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// agreeing is how many states TestAgreesWithGo makes.
const agreeing = 200

// TestAgreesWithGo makes random states of a job in Redis, likely and unlikely ones. What fanfold why
// says of each while the records are away, by what Redis knows, fanfold_why says, too.
func TestAgreesWithGo(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	l, _ := loader(client, report.DefaultKeys)
	db, err := mysqldb.Connect(report.Database{DSN: "root@tcp(127.0.0.1:1)/x"}, 1, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	records, err := record.New(db, report.Records{Table: "x"})
	if err != nil {
		t.Fatal(err)
	}
	definitions := l.o.Config.Reports
	definitions["r"] = &report.Report{Name: "r", Retry: report.Retry{Retries: 2}, DeadlineWaits: true, Stages: []report.Stage{{Listeners: []report.Listener{
		{Name: "a", Kind: report.FromMySQL, Source: "d", Timeout: time.Hour, Retry: report.Retry{Retries: 1}}, {Name: "b", Kind: report.FromHTTP, Source: "v", HTTP: &report.HTTP{}}, {Name: "c.d", Kind: report.External, Silence: 3 * time.Hour},
	}}}}
	l.o.Config.Limits.RunningJobs = 2
	l.o.Config.Bounds = map[string]report.Bound{"d": {Parallel: 2}, "v": {Parallel: 7}}
	in := inspect.New(inspect.Options{Config: l.o.Config, Redis: client, Scripts: l.o.Partitions, Records: records})
	compared := 0
	for seed := range uint64(agreeing) {
		ctx := t.Context()
		client.FlushDB(ctx)
		l.written = false
		l.Once(ctx)
		s := &someState{Rand: rand.New(rand.NewPCG(seed, 7)), ctx: ctx, client: client, definition: definitions["r"].Hash(), now: time.Now()}
		s.make()
		verdict, err := in.Why(ctx, "1")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(verdict.Details, func(d string) bool { return strings.HasPrefix(d, byRedis) }) {
			continue // without the record nothing is known; TestWhySaysTheSameEverywhere has that
		}
		compared++
		got := lines(t, client, "fanfold_why", "fanfold:deadlines", "1")
		if diff := cmp.Diff(said(verdict), plain(got)); diff != "" {
			t.Fatalf("seed %d: fanfold why (-) and fanfold_why (+):\n%s\n%s\n%s", seed, diff, strings.Join(s.did, "\n"), strings.Join(got, "\n"))
		}
	}
	if compared < agreeing/2 {
		t.Errorf("only %d of %d were compared", compared, agreeing)
	}
}

// byRedis begins what a verdict says while the records are away.
const byRedis = "According to Redis: "

// said is what a verdict says by what Redis knows, in the lines of fanfold_why.
func said(v inspect.Verdict) []string {
	var lines []string
	for _, d := range v.Details {
		if found, ok := strings.CutPrefix(d, byRedis); ok {
			lines = append([]string{found}, lines...)
		} else {
			lines = append(lines, "  "+d)
		}
	}
	for _, s := range v.Steps {
		lines = append(lines, "  "+s.Name+": "+s.Says)
	}
	for i, u := range v.Upcoming {
		if i == 0 {
			lines = append(lines, "What will happen:")
		}
		lines = append(lines, "  "+words.Stamp(u.At)+" ("+words.When(u.At, v.Now)+"): "+u.What)
	}
	for i, r := range v.Remedies {
		if i == 0 {
			lines = append(lines, "What you can do:")
		}
		lines = append(lines, "  "+r)
	}
	return plain(lines)
}

var (
	anyTime     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d`)
	anyDuration = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b`)
	anyCLI      = regexp.MustCompile(`redis-cli -p \d+`)
)

// plain is text without what differs from call to call, and without what one of the two alone says.
func plain(lines []string) []string {
	var same []string
	for _, line := range lines {
		if strings.HasPrefix(line, "  job: ") || strings.HasPrefix(line, "  This answer comes from Redis alone") || strings.HasPrefix(line, "  No job starts or ends until") {
			continue
		}
		line = anyDuration.ReplaceAllString(anyTime.ReplaceAllString(line, "AT"), "T")
		same = append(same, anyCLI.ReplaceAllString(line, "redis-cli"))
	}
	return same
}

// someState makes a state of job 1.
type someState struct {
	*rand.Rand
	ctx        context.Context
	client     redis.UniversalClient
	definition string
	now        time.Time
	did        []string
}

func (s *someState) do(args ...any) {
	s.did = append(s.did, fmt.Sprint(args...))
	s.client.Do(s.ctx, args...)
}

// one is one of several.
func one[T any](s *someState, all ...T) T { return all[s.IntN(len(all))] }

func (s *someState) maybe(percent int, do func()) {
	if s.IntN(100) < percent {
		do()
	}
}

// at is a time before or after now, so far that a call does not come to it meanwhile.
func (s *someState) at() int64 {
	return s.now.Add(one(s, -5*time.Hour, -time.Hour, time.Hour, 5*time.Hour)).UnixMilli()
}

func (s *someState) make() {
	k := scripts.Keys(report.DefaultKeys)
	names := []string{"a", "b", "c.d"}
	if s.IntN(4) > 0 {
		status := one(s, "RUN", "RUN", "RUN", "RUN", "READY", "FOLD", "PUBLISHING", "FAILING")
		open := names[s.IntN(4):]
		bars := "|"
		for _, l := range open {
			bars += l + one(s, "|", "#2|")
		}
		of := "r/" + one(s, s.definition, s.definition, s.definition, "old") + "/d"
		if s.IntN(10) == 0 {
			of = "gone/x/d"
		}
		s.do("HSET", k.Job("1"), "job", fmt.Sprintf("2 %s 1 0 %d %d/3 0 %s %d %d %s", status, s.at(), 3-len(open), bars, s.at(), s.at(), of), "parameters", "{}", "listeners", strings.Join(names, ","))
		for _, l := range names[:3-len(open)] {
			s.do("HSET", k.Job("1"), l+":found", "at=1 ms=1 chunks=0 rows=0 bytes=0 columns=[]")
		}
		s.maybe(30, func() { s.do("HSET", k.Job("1"), "reason", "no {x}") })
		for _, l := range append(open, job.StepFanIn) {
			s.step(k, l)
		}
	} else {
		s.maybe(20, func() { s.do("SET", k.Ended("1"), "1 FAILED r/x/y a:1:1 no disk") })
	}
	s.maybe(20, func() { s.do("ZADD", k.Deadlines(), s.at(), "2", s.at(), "3") })
	s.maybe(15, func() {
		s.do("ZADD", k.Delayed(), one[any](s, s.at(), "inf", "-inf", 0, 1e15, s.at()/1000, 4e14), one(s, "1", "1/1/@trigger", "1/3/@trigger"))
	})
	s.maybe(30, func() {
		s.do("ZADD", k.PausedSet(), s.at(), one(s, "listener/a", "listener/b", "listener/c.d", "report/r"))
	})
	s.maybe(30, func() {
		s.do("ZADD", k.Definitions(), s.now.Add(time.Hour).UnixMilli(), one(s, "r/x", "r/old", "r/"+s.definition))
	})
	s.maybe(30, func() {
		s.do("ZADD", k.Definitions(), s.now.Add(-time.Minute).UnixMilli(), one(s, "r/x", "r/old", "gone/x"))
	})
	s.maybe(10, func() {
		s.do("XADD", k.Quarantined(), "*", "stream", k.Jobs(), "reason", "odd", "fields", one(s, "id=1", "member=1/2/x", `x="a b" id=1`, "id=11"))
	})
	s.maybe(20, func() { s.entry(k.Jobs(), "id", "1") })
	for _, source := range []string{"d", "v"} {
		for range s.IntN(9) {
			s.do("ZADD", k.Slots(source), s.at(), fmt.Sprintf("%d/2/%s/1-0/w", s.IntN(8), one(s, "a", "b")))
		}
	}
}

// step says something of a step.
func (s *someState) step(k scripts.Keys, name string) {
	set := func(field string, value any) func() {
		return func() { s.do("HSET", k.Job("1"), name+":"+field, value) }
	}
	s.maybe(30, set("owner", "w/1"))
	s.maybe(30, set("tries", s.IntN(3)))
	s.maybe(20, set("error", one(s, "deadlock", "{error}")))
	s.maybe(30, set("blame", one(s, "source", "records", "sink", "slots", "rate", "tasks")))
	s.maybe(40, set("next", s.at()))
	s.maybe(20, set("part", "chunks=1 rows=5 bytes=7 columns=[]"))
	stream := k.Task(name)
	if name == job.StepFanIn {
		stream = one(s, k.FanIn(), k.FanInLarge())
	} else {
		s.maybe(20, set("lease", s.at()))
		s.maybe(20, set("taken", s.now.Add(-time.Minute).UnixMilli()))
		s.maybe(15, set("waits", "API vendor: job 5"))
	}
	s.maybe(40, func() {
		s.do("ZADD", k.Delayed(), one[any](s, s.at(), s.at(), "inf"), "1/2/"+one(s, name, name, job.StepRecord))
	})
	s.maybe(60, func() { s.entry(stream, "id", "1", "attempt", one(s, "2", "2", "2", "1")) })
	s.maybe(60, func() {
		s.do("XGROUP", "CREATE", stream, scripts.Group, "0", "MKSTREAM")
		s.do("XGROUP", "CREATECONSUMER", stream, scripts.Group, "live")
	})
}

// entry adds an entry to a stream, others before it, and perhaps a worker that has read it.
func (s *someState) entry(stream string, fields ...any) {
	for range s.IntN(3) {
		s.do("XADD", stream, "*", "id", "0", "attempt", "1")
	}
	s.do(append([]any{"XADD", stream, "*"}, fields...)...)
	s.maybe(50, func() {
		s.do("XGROUP", "CREATE", stream, scripts.Group, "0")
		s.do("XREADGROUP", "GROUP", scripts.Group, "w", "STREAMS", stream, ">")
		if last := s.client.XRevRangeN(s.ctx, stream, "+", "-", 1).Val(); len(last) > 0 {
			s.do("XCLAIM", stream, scripts.Group, "w", 0, last[0].ID, "IDLE", one(s, 0, 1_200_000, 7_200_000, 18_000_000), "JUSTID")
		}
	})
}
