package command

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/dashboard"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// whyCase is a state of Redis and MySQL and the verdict that fanfold why and the page of the job give
// for it. In texts, T stands for a duration, AT for a time, ID for the id.
type whyCase struct {
	record string // status; empty: there is no record
	report string // empty: two
	so     func(w *whyPlace)
	says   string
	id     string // how the id is written; empty: as the database has it
	config string // which configuration is asked; empty: that of the stack
}

// whyCases has one case for every kind of verdict.
var whyCases = map[why.Kind]whyCase{
	why.KindRedisAway:     {config: "no-redis", record: "PENDING", says: "Redis does not answer: Redis cannot be reached: dial tcp IP: connect: connection refused."},
	why.KindRedisDenies:   {config: "denied", record: "PENDING", says: "Redis answers, but denies a command to the user of this configuration: memory of Redis: NOPERM "},
	why.KindWrongType:     {record: "PENDING", so: func(w *whyPlace) { w.do("SET", w.k.Jobs, "x") }, says: "A key of Fanfold has another type: stream fanfold:jobs: WRONGTYPE Operation against a key holding the wrong kind of value: the key fanfold:jobs is a string, not a stream: inspect it with redis-cli TYPE 'fanfold:jobs'."},
	why.KindRecordsAway:   {config: "no-records", record: "PENDING", so: func(w *whyPlace) { w.later(time.Hour, "") }, says: "The records' database does not answer: table `file_download_record`: dial tcp IP: connect: connection refused."},
	why.KindSourceAway:    {report: "gone", so: func(w *whyPlace) { w.runs("RUN", "gone"); w.reads("task:gone", 0) }, says: "It waits for gone: worker w has it, and database gone does not answer from here: dial tcp IP: connect: connection refused"},
	why.KindSourceRefuses: {report: "locked", so: func(w *whyPlace) { w.runs("RUN", "locked"); w.tries("locked", "away", "source"); w.live("task:locked") }, says: "It waits for locked: database locked refuses the login from here (Error 1045 (28000): Access denied for user "},
	why.KindPaused: {so: func(w *whyPlace) {
		w.runs("RUN", "b")
		w.add("task:b")
		w.do("HSET", w.k.Holds, "source/db", `{"since": 1763773822000, "until": 0, "who": "ann", "reason": "busy"}`)
	}, says: "It waits for b: database db has been paused since AT by ann: busy"},
	why.KindNoDefinition: {so: func(w *whyPlace) {
		w.definition = "0123456789ab"
		w.runs("RUN", "b")
		w.score(w.k.Definitions, time.Now().Add(time.Hour), "two/other")
	}, says: "It is stuck: no process has the definition of report two that it was started with (0123456789ab)."},
	why.KindNoScheduler:  {record: "PENDING", so: func(w *whyPlace) { w.later(-time.Hour, "") }, says: "It was due T ago, and no scheduler has moved it."},
	why.KindNoWorker:     {so: func(w *whyPlace) { w.runs("RUN", "a", "b"); w.add("task:a"); w.reads("task:b", 0) }, says: "It waits for a, b: a: no worker reads fanfold:task:a, which has 1 entry"},
	why.KindWorkerDead:   {so: func(w *whyPlace) { w.runs("RUN", "b"); w.reads("task:b", 2*time.Hour) }, says: "It waits for b: worker w took it T ago (try 1 of 7) and is dead: its lease ended T ago"},
	why.KindRetryWaiting: {so: func(w *whyPlace) { w.runs("RUN", "b"); w.tries("b", "deadlock {x}", "source"); w.live("task:b") }, says: "It waits for b: it failed and is tried again in T (try 2 of 7): deadlock {x}"},
	why.KindSinkFails:    {so: func(w *whyPlace) { w.runs("FOLD"); w.tries("@fanin", "sink: 503", "sink"); w.live("fanin") }, says: "It waits for fan-in: it failed and is tried again in T (try 2 of 7): sink: 503"},
	why.KindSpoolFails:   {so: func(w *whyPlace) { w.runs("RUN", "b"); w.tries("b", "spool: 503", "spool"); w.live("task:b") }, says: "It waits for b: it failed and is tried again in T (try 2 of 7): spool: 503"},
	why.KindLost:         {so: func(w *whyPlace) { w.runs("RUN", "b"); w.live("task:b") }, says: "It waits for b: it is neither in fanfold:task:b nor in fanfold:delayed: Redis has lost the message"},
	why.KindNoSlot: {report: "bounded", so: func(w *whyPlace) {
		w.runs("RUN", "bounded")
		w.add("task:bounded")
		w.live("task:bounded")
		w.score(w.k.Slots("bounded"), time.Now().Add(time.Hour), "7/1/bounded/1-0/w")
	}, says: "It waits for bounded: it waits for a slot of database bounded: all 1 that databases.bounded.parallel allows are taken, by job 7"},
	why.KindRateLimited: {report: "bounded", so: func(w *whyPlace) {
		w.runs("RUN", "bounded")
		w.tries("bounded", "", "")
		w.set("bounded:waits", "the rate limit of bounded: 1 in 1h0m0s", "bounded:blame", "rate")
		w.live("task:bounded")
	}, says: "It waits for bounded: it waits for the rate limit of bounded: 1 in T; the next poll is in T"},
	why.KindSourceBusy: {report: "bounded", so: func(w *whyPlace) {
		w.runs("RUN", "bounded")
		w.tries("bounded", "", "")
		w.set("bounded:waits", "the database bounded is busy: 57 threads run, and protect.threads_running is 40", "bounded:blame", "busy")
		w.live("task:bounded")
	}, says: "It waits for bounded: the database bounded is busy: 57 threads run, and protect.threads_running is 40; the next poll is in T"},
	why.KindShared: {report: "shared", record: "PENDING", so: func(w *whyPlace) {
		w.do("HSET", w.k.Once, w.id, "0f")
		w.do("HSET", w.k.Group("0f"), "leader", "7")
	}, says: "It waits for the file of job 7, which has the same report and parameters (once)."},
	why.KindQueued: {so: func(w *whyPlace) {
		w.runs("RUN", "b")
		w.do("XADD", "fanfold:task:b", "*", "id", "0", "attempt", "1")
		w.add("task:b")
		w.live("task:b")
	}, says: "It waits for b: 1 task is ahead of it in fanfold:task:b, which has 1 worker"},
	why.KindWaiting: {so: func(w *whyPlace) {
		w.runs("RUN", "b")
		w.tries("b", "", "")
		w.set("b:waits", "API vendor: job 5 is queued")
		w.live("task:b")
	}, says: "It waits for b: it waits for API vendor: job 5 is queued; the next poll is in T"},
	why.KindRunning: {so: func(w *whyPlace) { w.runs("RUN", "a", "b"); w.reads("task:a", 0); w.reads("task:b", 0) }, says: "It waits for a, b: a: its query has been running for T (try 1 of 7), with worker w"},
	why.KindBarrier: {so: func(w *whyPlace) {
		w.runs("RUN", "b")
		w.set("b:part", "chunks=1 rows=7 bytes=9 columns=[]")
		w.reads("task:b", 0)
	}, says: "1 of 2 listeners are done. It waits for b: its query has been running for T (try 1 of 7), with worker w; 7 rows so far"},
	why.KindFolding:   {so: func(w *whyPlace) { w.runs("FOLD"); w.reads("fanin", 0) }, says: "It waits for fan-in: worker w is making the file (try 1 of 7)"},
	why.KindEnding:    {so: func(w *whyPlace) { w.runs("FAILING"); w.set("reason", "no disk"); w.reads("fanin", 0) }, says: "It waits for fan-in: worker w is ending the job: no disk"},
	why.KindNotPushed: {record: "PENDING", says: "The record is PENDING, and its id was not pushed."},
	why.KindNoRoom:    {record: "PENDING", so: func(w *whyPlace) { w.push(); w.live("jobs"); w.score(w.k.Deadlines, time.Now(), "x", "y", "z") }, says: "It waits in fanfold:jobs as the next one until a running job ends: 3 jobs run, the maximum that limits.running_jobs allows."},
	why.KindRedisFull: {record: "PROCESSING", so: func(w *whyPlace) { w.later(time.Hour, ""); w.score(w.k.Contenders, time.Now(), w.id) }, says: "Redis was full, and the job made room for an older one; it starts again after the jobs that competed before it."},
	why.KindStarting:  {record: "PENDING", so: func(w *whyPlace) { w.push(); w.reads("jobs", 0) }, says: "The trigger w read it T ago and is starting it."},
	why.KindDelayed:   {record: "PENDING", so: func(w *whyPlace) { w.later(time.Hour, "") }, says: "It was pushed for later and is due in T."},
	why.KindPolling:   {so: func(w *whyPlace) { w.later(time.Hour, "/2/@trigger") }, id: "999", says: "Its id was pushed, but the job could not be started: its record is read again in T (poll 2 of 3)."},
	why.KindQuarantined: {record: "PENDING", so: func(w *whyPlace) {
		w.do("XADD", w.k.Quarantined, "*", "stream", w.k.Jobs, "reason", "unknown report", "fields", "id="+w.id)
	}, says: "It was quarantined T ago: unknown report."},
	why.KindStateless:     {record: "PROCESSING", says: "The record is PROCESSING, but Redis has no state of attempt 1."},
	why.KindBrokenState:   {record: "PROCESSING", so: func(w *whyPlace) { w.do("HSET", w.k.Job(w.id), "job", "x", "listeners", "a") }, says: `The key of its state contains something else: not a state: a key is not what it should be: state of ID: the field job is "x".`},
	why.KindSuperseded:    {so: func(w *whyPlace) { w.attempt = 2; w.runs("RUN", "b"); w.reads("task:b", 0) }, says: "Redis has attempt 2 of the job, but the record has attempt 1: the record was changed."},
	why.KindEnded:         {record: "SUCCESS", so: func(w *whyPlace) { w.do("SET", w.k.Ended(w.id), "1 SUCCESS two/x/y a:1:1 file:///two.csv") }, says: "It is done: file:///two.csv"},
	why.KindNoRecord:      {id: "998", says: "There is no record with this id, and no trace of the id in Redis."},
	why.KindOtherID:       {record: "PENDING", id: "0%s", says: `The database finds the record "%s" for this id: push exactly that id.`},
	why.KindUnknownReport: {record: "PENDING", report: "unknown", says: `Its report "unknown" is not in this configuration, and the id is not queued.`},
}

// whyPlace is where a case runs.
type whyPlace struct {
	*stack
	k          *scripts.Keys
	id, report string
	definition string
	attempt    int
}

func (w *whyPlace) do(args ...any) {
	w.Helper()
	if err := w.Redis.Do(w.Context(), args...).Err(); err != nil {
		w.Fatalf("%v: %v", args, err)
	}
}

func (w *whyPlace) set(fields ...any) {
	w.do(append([]any{"HSET", w.k.Job(w.id)}, fields...)...)
}

func (w *whyPlace) score(key string, at time.Time, members ...string) {
	for _, m := range members {
		w.do("ZADD", key, at.UnixMilli(), m)
	}
}

// later delays the id, or a step of it.
func (w *whyPlace) later(in time.Duration, step string) {
	w.score(w.k.Delayed, time.Now().Add(in), w.id+step)
}

// runs writes the state of a job that waits for these listeners, or for fan-in if there are none.
func (w *whyPlace) runs(status string, open ...string) {
	now := time.Now()
	bars, of, target := "|", w.Config.Reports[w.report], 0
	for range of.Listeners() {
		target++
	}
	for _, l := range open {
		bars += l + "|"
	}
	if w.definition == "" {
		w.definition = of.Hash()
	}
	line := fmt.Sprintf("%d %s 1 0 %d %d/%d 0 %s %d %d %s/%s/d", w.attempt, status, now.Add(time.Hour).UnixMilli(), target-len(open), target, bars, now.Add(2*time.Hour).UnixMilli(), now.UnixMilli(), w.report, w.definition)
	w.set("job", line, "parameters", "{}", "listeners", map[bool]string{true: "a,b", false: w.report}[w.report == "two"])
	if w.report == "two" && len(open) < 2 {
		w.set("a:found", "at=1 ms=1 chunks=0 rows=0 bytes=0 columns=[]")
	}
	if w.report == "two" && len(open) == 0 {
		w.set("b:found", "at=1 ms=1 chunks=0 rows=0 bytes=0 columns=[]")
	}
	w.score(w.k.Deadlines, now.Add(time.Hour), w.id)
}

// tries makes a step wait for its next try.
func (w *whyPlace) tries(step, failed, blame string) {
	at := time.Now().Add(30 * time.Minute)
	w.set(step+":tries", 1, step+":next", at.UnixMilli())
	if failed != "" {
		w.set(step+":error", failed, step+":blame", blame)
	}
	w.score(w.k.Delayed, at, job.Later{ID: w.id, Attempt: int64(w.attempt), Step: step}.String())
}

func (w *whyPlace) push() { w.do("XADD", w.k.Jobs, "*", "id", w.id) }

// add adds the job's entry to a stream.
func (w *whyPlace) add(stream string) {
	w.do("XADD", w.k.Prefix+stream, "*", "id", w.id, "attempt", w.attempt)
}

// live adds a live consumer to a stream.
func (w *whyPlace) live(stream string) {
	w.do("XGROUP", "CREATE", w.k.Prefix+stream, scripts.Group, "0", "MKSTREAM")
	w.do("XGROUP", "CREATECONSUMER", w.k.Prefix+stream, scripts.Group, "other")
}

// reads makes worker w read the job's entry and stay silent since then.
func (w *whyPlace) reads(stream string, silent time.Duration) {
	if stream != "jobs" {
		w.add(stream)
	}
	w.live(stream)
	w.do("XREADGROUP", "GROUP", scripts.Group, "w", "STREAMS", w.k.Prefix+stream, ">")
	entry := w.Redis.XRange(w.Context(), w.k.Prefix+stream, "-", "+").Val()[0].ID
	w.do("XCLAIM", w.k.Prefix+stream, scripts.Group, "w", 0, entry, "IDLE", silent.Milliseconds(), "JUSTID")
}

var (
	anyTime     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d`)
	anyDuration = regexp.MustCompile(`\b\d+(\.\d+)?(h|ms?|s)(\d+(\.\d+)?(m|s))*\b`)
	anyAddress  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// timeless replaces what differs from run to run in a text.
func timeless(text, id, port string) string {
	text = strings.ReplaceAll(text, "redis-cli -p "+port+" ", "redis-cli ")
	text = anyAddress.ReplaceAllString(anyDuration.ReplaceAllString(anyTime.ReplaceAllString(text, "AT"), "T"), "IP")
	return regexp.MustCompile(`\b`+id+`\b`).ReplaceAllString(text, "ID")
}

// TestWhySaysTheSameEverywhere: for every kind of verdict, the command line and the page of the job use
// the same words.
func TestWhySaysTheSameEverywhere(t *testing.T) {
	t.Parallel()
	const one = `{listeners: {%[1]s: {database: %[1]s, query: "SELECT 1 AS k"}}}`
	reports := `
  two: {listeners: {a: {database: db, query: "SELECT 1 AS k"}, b: {database: db, query: "SELECT 1 AS k"}}, join: {key: k}}
  gone: ` + fmt.Sprintf(one, "gone") + `
  bounded: ` + fmt.Sprintf(one, "bounded") + `
  locked: ` + fmt.Sprintf(one, "locked") + `
  shared: {once: {per: [report, parameters]}, listeners: {shared: {database: db, query: "SELECT 1 AS k"}}}`
	_, address, _ := strings.Cut(testmain.SharedDatabase(t).DSN("x"), "@")
	limits := "limits: {lease: 1h, recover_after: 1h, running_jobs: 3}\n"
	databases := `databases: {db: {dsn: "{dsn}"}, gone: {dsn: "root@tcp(127.0.0.1:1)/x"}, bounded: {dsn: "{dsn}", parallel: 1, rate: 1/h}, locked: {dsn: "nobody:wrong@` + address + `"}}`
	s := newStackAlone(t, nil, reports, limits+databases)
	_, port, _ := strings.Cut(s.Server.Addr, ":")
	s.Records.Exec("ALTER TABLE file_download_record AUTO_INCREMENT = 700001")
	files := map[string]string{"": s.File, "no-records": s.Write("no-records.yaml", reports, limits+strings.Replace(databases, "{dsn}", "root@tcp(127.0.0.1:1)/x", 1))}
	where := s.Where
	s.Where = func(int) string { return e2e.WhereAlone("127.0.0.1:1", 1) }
	files["no-redis"] = s.Write("no-redis.yaml", reports, limits+databases)
	s.Where = func(int) string { return `{url: "redis://app:secret@` + s.Server.Addr + `/0"}` }
	files["denied"] = s.Write("denied.yaml", reports, limits+databases)
	s.Where = where
	if err := s.Redis.Do(t.Context(), "acl", "setuser", "app", "on", ">secret", "~*", "&*", "+@all", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	site, err := access.New(report.Site{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]*dashboard.Dashboard{}
	for name, file := range files {
		pages[name] = dashboard.New(dashboard.Options{
			Inspect: s.Open(file).Inspect, Ready: func(context.Context) error { return nil }, Sink: func(context.Context) error { return nil },
			Processes: func(context.Context) ([]string, error) { return nil, nil }, Find: s.Object,
		})
		go pages[name].Run(t.Context())
	}
	for _, kind := range why.Kinds() {
		if whyCases[kind].says == "" {
			t.Errorf("no case is %s", kind)
		}
	}
	if out, code := s.fanfold("list", "--why", "retry-wating"); code != exitUsage || !strings.Contains(out, "retry-waiting") {
		t.Errorf("list --why of no kind: %d %s", code, out)
	}
	for kind, c := range whyCases {
		t.Run(string(kind), func(t *testing.T) {
			w := &whyPlace{stack: s.in(t), k: s.Partitions.First().Keys, report: c.report, attempt: 1, id: c.id}
			if w.report == "" {
				w.report = "two"
			}
			if c.record == "" && c.id == "" {
				c.record = "PROCESSING"
			}
			row := ""
			if c.record != "" {
				row = w.Records.Insert("two", "")
				w.Records.Exec("UPDATE file_download_record SET report = ?, status = ?, attempt = ?, file = 'file:///two.csv' WHERE id = ?", w.report, c.record, map[bool]int{true: 0, false: 1}[c.record == "PENDING"], row)
				w.id = row
			}
			if strings.Contains(c.id, "%s") {
				w.id = fmt.Sprintf(c.id, row)
				c.says = fmt.Sprintf(c.says, row)
			}
			w.do("FLUSHALL")
			if c.so != nil {
				c.so(w)
			}

			out, _ := w.fanfold("-c", files[c.config], "why", w.id)
			lines := strings.Split(timeless(out, w.id, port), "\n")
			if !strings.HasPrefix(lines[0], c.says) {
				t.Errorf("fanfold why %s says\n%s\nand not\n%s", w.id, out, c.says)
			}
			if kind == why.KindNoWorker || kind == why.KindNotPushed || kind == why.KindNoSlot {
				if out, code := w.fanfold("list", "--why", string(kind), "--limit", "1"); code != exitOK || !strings.Contains(timeless(out, w.id, port), lines[0]) {
					t.Errorf("list --why: %d\n%s", code, out)
				}
			}
			r, page := httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1/jobs/"+w.id, nil), httptest.NewRecorder()
			site.Login(audit.Dashboard, pages[c.config]).ServeHTTP(page, r)
			says := lines[0]
			if kind == why.KindNoRecord {
				says = "no such record" // which is an error
			}
			if text := timeless(html.UnescapeString(page.Body.String()), w.id, port); !strings.Contains(text, says) {
				t.Errorf("the page says\n%s\nand not\n%s", text, says)
			}
		})
	}
}
