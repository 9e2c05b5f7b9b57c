package inspect

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestDiagnose is the table of what facts mean, where no server is needed.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	rep := &report.Report{Name: "r", Retry: report.Retry{Retries: 6}, Stages: []report.Stage{{Listeners: []report.Listener{
		{Name: "a", Source: "da", Retry: report.Retry{Retries: 2}}, {Name: "b", Source: "db"},
	}}}}
	alive := []consumer{{"w", time.Second}}
	silent := []consumer{{"w", time.Hour}}
	job := func(status string, change func(f *facts)) facts {
		f := facts{
			Record: &engine.Record{ID: "1", Report: "r", Status: report.Processing, Attempt: 2},
			Report: rep,
			State: &scripts.State{
				ID: "1", Report: "r", Definition: rep.Hash(), Attempt: 2, Stage: 1, Status: status, Deadline: now.Add(time.Hour),
				Target: 2, Listeners: []string{"a", "b"}, Tasks: map[string]scripts.TaskState{"a": {Stage: 1}, "b": {Stage: 1}},
			},
			Queues: map[string]queue{
				"a": {Key: "ka", Whole: true, Consumers: alive}, "b": {Key: "kb", Whole: true, Consumers: alive},
				scripts.StepFanIn: {Key: "kf", Whole: true, Consumers: alive},
			},
		}
		change(&f)
		return f
	}
	record := func(status report.Status, change func(f *facts)) facts {
		f := facts{Record: &engine.Record{ID: "1", Report: "r", Status: status}, Report: rep, Jobs: queue{Whole: true, Consumers: alive}, AsideAll: true}
		change(&f)
		return f
	}
	task := func(f *facts, name string, change func(t *scripts.TaskState)) {
		state := f.State.Tasks[name]
		change(&state)
		f.State.Tasks[name] = state
	}
	own := func(t *scripts.TaskState) {
		t.Owner, t.Taken, t.Lease, t.Tries = "w/1", now.Add(-time.Minute), now.Add(5*time.Second), 1
	}
	done := func(f *facts) {
		task(f, "b", func(t *scripts.TaskState) { t.Done = true })
		f.State.Done = 1
	}
	soon := func(step string) []Delayed {
		return []Delayed{NewDelayed("1/2/"+step, float64(now.Add(time.Second).UnixMilli()), now)}
	}
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		facts facts
		kind  Kind
		words string
	}{
		"redis and records away":     {facts{RedisErr: away, RecordErr: away}, KindRedisAway, "does not answer, either"},
		"a key of another type":      {facts{RedisErr: fmt.Errorf("%w: the key fanfold:task:a is a string", redisAnswer("WRONGTYPE Operation against a key"))}, KindWrongType, "rename or delete it"},
		"records away, id unknown":   {facts{RecordErr: away}, KindRecordsAway, "connection refused"},
		"another row":                {record(report.Pending, func(f *facts) { f.Record.ID = "01" }), KindOtherID, `"01"`},
		"perhaps pushed":             {record(report.Pending, func(f *facts) { f.Jobs.Whole, f.Jobs.Searched = false, 10000 }), KindQueued, "at least 10000 others"},
		"a status of its own":        {record("ODD", func(*facts) {}), KindEnded, "does not map"},
		"memory":                     {record(report.Pending, func(f *facts) { f.Jobs.Entry, f.Memory = &entry{}, 91 }), KindNoRoom, "91 %"},
		"being started":              {record(report.Pending, func(f *facts) { f.Jobs.Entry = &entry{Consumer: "w", Idle: time.Second} }), KindStarting, "is starting it"},
		"dead trigger, another one":  {record(report.Pending, func(f *facts) { f.Jobs.Entry = &entry{Consumer: "x", Idle: time.Minute} }), KindWorkerDead, "another worker takes it over"},
		"a score that is no time":    {record(report.Pending, func(f *facts) { f.Delayed = []Delayed{NewDelayed("1", math.Inf(1), now)} }), KindDelayed, "goes to the quarantine"},
		"processing, grace over":     {record(report.Processing, func(f *facts) { f.Record.Age = time.Hour }), KindStateless, "is over"},
		"quarantined before a push":  {record(report.Pending, func(f *facts) { f.Aside, f.Jobs.Entry = &aside{}, &entry{} }), KindQueued, "as the next one"},
		"failed, still winding up":   {job(scripts.StatusFailing, func(f *facts) { f.Record.Status = report.Failed }), KindEnded, "Its state in Redis is still there"},
		"the settled state of an id": {job("FAILED", func(f *facts) { f.Record.Status = report.Pending; f.Jobs.Whole = true }), KindNotPushed, "nobody has pushed"},

		"all tasks in work":     {job(scripts.StatusRun, func(f *facts) { task(f, "a", own); task(f, "b", own) }), KindRunning, "It waits for a, b"},
		"one of two":            {job(scripts.StatusRun, func(f *facts) { task(f, "a", own); done(f) }), KindBarrier, "1 of 2 listeners are done"},
		"the try is counted":    {job(scripts.StatusRun, func(f *facts) { task(f, "a", own); done(f) }), KindBarrier, "try 1 of 3"},
		"the worst comes first": {job(scripts.StatusRun, func(f *facts) { task(f, "a", own); f.Queues["b"] = queue{Key: "kb", Consumers: silent} }), KindNoWorker, "no worker reads kb"},
		"source away, in work":  {job(scripts.StatusRun, func(f *facts) { task(f, "a", own); f.Sources = map[string]error{"da": away}; done(f) }), KindSourceAway, "database da does not answer"},
		"waits for a vendor": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			task(f, "a", func(t *scripts.TaskState) { t.Next, t.Waits = now.Add(7*time.Second), "API vendor: job 5 is queued" })
			f.Delayed = soon("a")
		}), KindWaiting, "it waits for API vendor: job 5 is queued; it looks again in "},
		"a wait that nobody ends": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			task(f, "a", func(t *scripts.TaskState) { t.Next, t.Waits = now.Add(time.Hour), "API vendor: job 5 is queued" })
			f.Delayed = []Delayed{NewDelayed("1/2/a", float64(now.Add(-time.Minute).UnixMilli()), now)}
		}), KindNoScheduler, "no scheduler has moved it; it waits for API vendor"},
		"waits for a vendor that is away": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			task(f, "a", func(t *scripts.TaskState) { t.Next, t.Waits = now.Add(7*time.Second), "API vendor: job 5 is queued" })
			f.Delayed, f.Sources = soon("a"), map[string]error{"da": away}
		}), KindSourceAway, "does not answer from here"},
		"behind many": {job(scripts.StatusRun, func(f *facts) { done(f); f.Queues["a"] = queue{Key: "ka", Searched: 10000, Consumers: alive} }), KindQueued, "at least 10000"},
		"hurried, not moved yet": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			task(f, "a", func(t *scripts.TaskState) { t.Next = now.Add(time.Hour); t.Error = "x" })
			f.Delayed = []Delayed{NewDelayed("1/2/a", float64(now.Add(-time.Minute).UnixMilli()), now)}
		}), KindNoScheduler, "no scheduler has moved it"},
		"a paused listener": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			f.Paused = scripts.Pauses{scripts.PausedListener("a"): now}
		}), KindPaused, "the listener is paused since"},
		"a paused listener, running still": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			task(f, "a", own)
			f.Paused = scripts.Pauses{scripts.PausedListener("a"): now}
		}), KindBarrier, "its query runs"},
		"asks an API": {job(scripts.StatusRun, func(f *facts) {
			api := *rep
			api.Stages = []report.Stage{{Listeners: []report.Listener{{Name: "a", Source: "v", Kind: report.FromHTTP, HTTP: &report.HTTP{}}, rep.Stages[0].Listeners[1]}}}
			f.Report, f.State.Definition = &api, api.Hash()
			task(f, "a", own)
			done(f)
		}), KindBarrier, "it asks API v, for 1m0s so far"},
		"an older definition": {job(scripts.StatusRun, func(f *facts) { f.State.Definition = "old"; task(f, "a", own); done(f) }), KindBarrier, "only a process that has it"},
		"deadline passed":     {job(scripts.StatusRun, func(f *facts) { task(f, "a", own); f.State.Deadline = now.Add(-time.Minute) }), KindNoScheduler, "no scheduler has failed it"},
		"record deleted":      {job(scripts.StatusRun, func(f *facts) { f.Record = nil; task(f, "a", own); done(f) }), KindBarrier, "The record was deleted"},
		"fold in work":        {job(scripts.StatusFold, func(f *facts) { f.State.Worker, f.State.Lease = "w", now.Add(time.Second) }), KindFolding, "is making the file"},
		"fold, its worker dead": {job(scripts.StatusPublishing, func(f *facts) {
			f.State.Worker, f.State.Lease = "w", now.Add(-time.Second)
			f.Queues[scripts.StepFanIn] = queue{Key: "kf", Entry: &entry{Consumer: "w"}, Whole: true, Consumers: alive}
		}), KindWorkerDead, "which is dead"},
		"fold, its worker dead, message lost": {job(scripts.StatusFold, func(f *facts) { f.State.Worker, f.State.Lease = "w", now.Add(-time.Second) }), KindLost, "otherwise a scheduler does, within 10s"},
		"worker dead, message lost": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			task(f, "a", func(t *scripts.TaskState) { t.Owner, t.Lease = "w", now.Add(-time.Second) })
		}), KindLost, "is dead, and its entry is not in ka any more"},
		"data lost": {job(scripts.StatusRun, func(f *facts) { f.DataGone = true }), KindLost, "A scheduler finds that and pushes the id again"},
		"no engine": {job(scripts.StatusReady, func(f *facts) { f.Queues[scripts.StepFanIn] = queue{Key: "kf", Length: 3} }), KindNoWorker, "nobody reads kf"},
		"ready, in the queue": {job(scripts.StatusReady, func(f *facts) {
			f.Queues[scripts.StepFanIn] = queue{Key: "kf", Entry: &entry{Ahead: 4}, Consumers: alive}
		}), KindQueued, "at least 4 jobs"},
		"ready, message lost": {job(scripts.StatusReady, func(*facts) {}), KindLost, "XADD kf"},
		"failing":             {job(scripts.StatusFailing, func(f *facts) { f.State.Worker, f.State.Lease, f.State.Reason = "w", now.Add(time.Second), "bad SQL" }), KindEnding, "bad SQL"},
		"records refused the end": {job(scripts.StatusPublishing, func(f *facts) {
			f.State.Fold.Next, f.State.Fold.Error, f.Delayed = now.Add(time.Second), "records: away", soon("@record")
		}), KindRecordsAway, "records: away"},
		"sink refused": {job(scripts.StatusFold, func(f *facts) {
			f.State.Fold.Next, f.State.Fold.Error, f.Delayed = now.Add(time.Second), "sink: 503", soon("@fanin")
		}), KindSinkFails, "try 1 of 7"},
		"handed back": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			f.Delayed = soon("a")
		}), KindNoWorker, "handed it back"},
		"a retry that was removed": {job(scripts.StatusRun, func(f *facts) {
			done(f)
			task(f, "a", func(t *scripts.TaskState) { t.Next, t.Error = now.Add(time.Minute), "x" })
		}), KindLost, "XADD ka '*' id 1 attempt 2"},
		"the end of a job that was removed": {job(scripts.StatusPublishing, func(f *facts) { f.State.Fold.Next, f.State.Fold.Error = now.Add(time.Second), "x" }), KindLost, "otherwise a scheduler does"},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.facts
			f.ID, f.Now, f.Keys = "1", now, scripts.Keys(report.DefaultKeys)
			f.Limits = config.Limits{RunningJobs: 10, Grace: time.Minute, Lease: 10 * time.Second, Memory: 80}
			v := diagnose(f)
			text := said(v)
			if v.Kind != c.kind || !strings.Contains(text, c.words) {
				t.Errorf("%s, not %s with %q:\n%s", v.Kind, c.kind, c.words, text)
			}
			for i := 1; i < len(v.Upcoming); i++ {
				if v.Upcoming[i].At.Before(v.Upcoming[i-1].At) {
					t.Errorf("not in the order of time: %+v", v.Upcoming)
				}
			}
		})
	}
}

// said is all that a verdict says in words.
func said(v Verdict) string {
	lines := append([]string{v.Summary}, v.Details...)
	for _, s := range v.Steps {
		lines = append(lines, s.Name+": "+s.Says)
	}
	for _, u := range v.Upcoming {
		lines = append(lines, u.What)
	}
	return strings.Join(append(lines, v.Remedies...), "\n")
}

// TestShell quotes what a shell would take apart.
func TestShell(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"fanfold:jobs": "fanfold:jobs", "{a}:state": "'{a}:state'", "it's": `'it'\''s'`, "": "''", "a$b": "'a$b'", "1/2/@fanin": "1/2/@fanin",
	} {
		if got := shell(word); got != want {
			t.Errorf("%q became %s, not %s", word, got, want)
		}
	}
}

// redisAnswer is an error that Redis has answered with.
type redisAnswer string

func (a redisAnswer) Error() string { return string(a) }
func (a redisAnswer) RedisError()   {}
