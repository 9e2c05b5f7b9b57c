package why

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// now is when all that the tests know was found out.
var now = time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)

// twoListeners is the report of the tests.
var twoListeners = &report.Report{Name: "r", Retry: report.Retry{Retries: 6}, Stages: []report.Stage{{Listeners: []report.Listener{
	{Name: "a", Source: "da", Retry: report.Retry{Retries: 2}}, {Name: "b", Source: "db"},
}}}}

var (
	alive   = []scripts.Consumer{{Name: "w", Idle: time.Second}}
	gone    = []scripts.Consumer{{Name: "w", Idle: time.Hour}}
	away    = errors.New("connection refused")
	refuses = fmt.Errorf("access denied: %w", fault.Login)
)

// sources are those of the listeners.
func sources() map[string]report.Source {
	database := report.Words{Noun: "database", Section: "databases", Work: "its query has been running for"}
	api := report.Words{Noun: "API", Section: "apis", Work: "it has been asking API {source} for"}
	return map[string]report.Source{"da": {Words: database, Timed: true}, "db": {Words: database, Timed: true}, "v": {Words: api}}
}

// change is one of what was found.
type change = func(f *facts)

// running are the facts of a job that waits for its listeners a and b, or for fan-in.
func running(status string, changes ...change) *facts {
	f := &facts{
		Record: &engine.Record{ID: "1", Report: "r", Status: report.Processing, Attempt: 2},
		Report: twoListeners,
		Job: &inspect.State{
			State: &job.State{Report: "r", Definition: twoListeners.Hash(), Attempt: 2, Stage: 1, Status: status, Deadline: now.Add(time.Hour), Target: 2},
			Steps: []inspect.Part{{Name: "a", TaskState: job.TaskState{Stage: 1}}, {Name: "b", TaskState: job.TaskState{Stage: 1}}}, FanIn: inspect.Part{Name: job.StepFanIn},
		},
		Queues: map[string]queue{
			"a": {Key: "ka", Whole: true, Consumers: alive}, "b": {Key: "kb", Whole: true, Consumers: alive},
			job.StepFanIn: {Key: "kf", Whole: true, Consumers: alive},
		},
		Away: map[string]error{}, Sources: sources(), Holds: scripts.Holds{},
	}
	for _, c := range changes {
		c(f)
	}
	return f
}

// querying are the facts of a job that waits for its listener a alone.
func querying(changes ...change) *facts {
	return running(job.StatusRun, append([]change{func(f *facts) { f.Job.Steps[1].Done, f.Job.Done = true, 1 }}, changes...)...)
}

// recorded are the facts of a record whose id waits nowhere.
func recorded(status report.Status, changes ...change) *facts {
	f := &facts{
		Record: &engine.Record{ID: "1", Report: "r", Status: status}, Report: twoListeners,
		Jobs: queue{Whole: true, Consumers: alive}, QuarantineWhole: true, Holds: scripts.Holds{},
	}
	for _, c := range changes {
		c(f)
	}
	return f
}

// of is a step of the job.
func (f *facts) of(step string) *inspect.Part {
	if i := slices.IndexFunc(f.Job.Steps, func(p inspect.Part) bool { return p.Name == step }); i >= 0 {
		return &f.Job.Steps[i]
	}
	return &f.Job.FanIn
}

// owned has a worker work on a step, whose lease ends.
func owned(step string, lease time.Duration) change {
	return func(f *facts) {
		p := f.of(step)
		p.Owner, p.Lease, p.Tries = "w/1", now.Add(lease), 1
		if step != job.StepFanIn {
			p.Taken = now.Add(-time.Minute)
		}
	}
}

// fails has a step fail, and its next try come.
func fails(step string, due time.Duration, text string, by job.Blame) change {
	return func(f *facts) {
		p := f.of(step)
		p.Next, p.Error, p.Blame = now.Add(time.Second), text, by
		back(step, due)(f)
	}
}

// waits has a listener wait for a vendor, until it polls again.
func waits(step string, due time.Duration) change {
	return func(f *facts) {
		p := f.of(step)
		p.Next, p.Waits = now.Add(time.Second), "API vendor: job 5 is queued"
		back(step, due)(f)
	}
}

// back puts a step into the delayed set.
func back(step string, due time.Duration) change {
	return func(f *facts) {
		f.Delayed = []inspect.Delayed{inspect.NewDelayed("1/2/"+step, float64(now.Add(due).UnixMilli()), now)}
	}
}

// pushed puts a member into the delayed set.
func pushed(member string, due time.Duration) change {
	return func(f *facts) {
		f.Delayed = []inspect.Delayed{inspect.NewDelayed(member, float64(now.Add(due).UnixMilli()), now)}
	}
}

// entered puts an entry into the stream of a step, with that many before it; a consumer has
// read it, unless that is empty.
func entered(step string, ahead int64, consumer string, idle time.Duration) change {
	return func(f *facts) {
		q := f.Queues[step]
		q.Entry = &entry{Ahead: ahead, Consumer: consumer, Idle: idle}
		f.Queues[step] = q
	}
}

// unattended leaves a stream without a consumer that lives.
func unattended(step string) change {
	return func(f *facts) {
		q := f.Queues[step]
		q.Consumers, q.Length = gone, 3
		f.Queues[step] = q
	}
}

// unsearched leaves a part of a stream unseen.
func unsearched(step string) change {
	return func(f *facts) {
		q := f.Queues[step]
		q.Whole, q.Searched = false, 10_000
		f.Queues[step] = q
	}
}

// source makes the source of listener a answer with an error.
func source(err error) change { return func(f *facts) { f.Away["da"] = err } }

// orphaned leaves no process with the definition of the job.
func orphaned(f *facts) {
	f.Job.Definition = "old"
	f.Seen = scripts.Seen{Now: now, Last: map[string]time.Time{"r/new": now, "r/old": now.Add(-time.Minute)}}
}

// kept has orphaned jobs of a report wait.
func kept(f *facts) {
	r := *f.Report
	r.WaitOnChange = true
	f.Report = &r
}

// reads makes listener a of another kind.
func reads(kind string) change {
	return func(f *facts) {
		r, source := *f.Report, "v"
		if kind == report.External {
			source = ""
		}
		r.Stages = []report.Stage{{Listeners: []report.Listener{
			{Name: "a", Source: source, Kind: kind, Silence: 30 * time.Second}, f.Report.Stages[0].Listeners[1],
		}}}
		f.Report, f.Job.Definition = &r, r.Hash()
	}
}

// meaning is what facts mean.
type meaning struct {
	facts *facts
	kind  Kind
	words string // that are said
}

const fanIn = job.StepFanIn

// beforeTheStart are meanings of records without a job that runs.
var beforeTheStart = map[string]meaning{
	"redis and records away":   {&facts{RedisErr: away, RecordErr: away}, KindRedisAway, "does not answer, either"},
	"a key of another type":    {&facts{RedisErr: fmt.Errorf("%w: the key fanfold:task:a is a string", redisAnswer("WRONGTYPE Operation against a key"))}, KindWrongType, "rename or delete it"},
	"records away, id unknown": {&facts{RecordErr: away}, KindRecordsAway, "connection refused"},
	"records away, id delayed": {recorded("", pushed("1", time.Hour), func(f *facts) { f.Record, f.RecordErr = nil, away }), KindRecordsAway, "According to Redis: It was pushed for later"},
	"another row":              {recorded(report.Pending, func(f *facts) { f.Record.ID = "01" }), KindOtherID, `"01"`},
	"a state that is none":     {recorded(report.Processing, func(f *facts) { f.JobErr = inspect.ErrBrokenState }), KindBrokenState, "delete it if it is not Fanfold's"},

	"success":                  {recorded(report.Success, func(f *facts) { f.Record.File = "file:///x" }), KindEnded, "It is done: file:///x"},
	"partial":                  {recorded(report.Partial), KindEnded, "The file is not complete: some listeners have failed."},
	"failed":                   {recorded(report.Failed, func(f *facts) { f.Record.Error, f.Dead = "no disk", now }), KindEnded, "It has failed: no disk"},
	"failed, wrong parameters": {recorded(report.Failed, func(f *facts) { f.Record.Parameters = []byte(`{"user": 1}`) }), KindEnded, "correct the parameters of the record; then fanfold retry 1 runs it again"},
	"failed, listed":           {recorded(report.Failed, func(f *facts) { f.Dead = now }), KindEnded, "fanfold dead discard 1"},
	"failed, still winding up": {running(job.StatusFailing, func(f *facts) { f.Record.Status = report.Failed }), KindEnded, "Its state in Redis still exists"},
	"cancelled":                {recorded(report.Cancelled, func(f *facts) { f.Record.Error = "by hand" }), KindEnded, "It was cancelled: by hand"},
	"a status of its own":      {recorded("ODD"), KindEnded, "does not map"},

	"no record, id delayed":    {recorded("", pushed("1", time.Hour), func(f *facts) { f.Record = nil }), KindDelayed, "There is no such record"},
	"no record, job ended":     {running("FAILED", func(f *facts) { f.Record = nil }), KindNoRecord, "its job has ended as FAILED"},
	"no record, not all seen":  {recorded("", func(f *facts) { f.Record, f.Jobs.Whole = nil, false }), KindNoRecord, "in the part of Redis that was searched"},
	"no record":                {recorded("", func(f *facts) { f.Record = nil }), KindNoRecord, "no trace of the id in Redis."},
	"no record, waits for one": {recorded("", pushed("1/2/@trigger", time.Second), func(f *facts) { f.Record = nil }), KindPolling, "poll 2 of 3"},

	"a score that is no time":            {recorded(report.Pending, func(f *facts) { f.Delayed = []inspect.Delayed{inspect.NewDelayed("1", math.Inf(1), now)} }), KindDelayed, "it is quarantined"},
	"overdue":                            {recorded(report.Pending, pushed("1", -time.Minute)), KindNoScheduler, "It was due 1m ago"},
	"delayed":                            {recorded(report.Pending, pushed("1", time.Minute)), KindDelayed, "fanfold delay run 1 runs it now"},
	"waits for its report":               {recorded(report.Pending, pushed("1/1/@trigger", time.Second), func(f *facts) { f.Report = nil }), KindPolling, `Its report "r" is not in this configuration`},
	"trigger dead, another one":          {recorded(report.Pending, inJobs("x", time.Minute)), KindWorkerDead, "another worker takes it over"},
	"trigger dead":                       {recorded(report.Pending, inJobs("x", time.Minute), func(f *facts) { f.Jobs.Consumers = gone }), KindWorkerDead, "so none can take it over"},
	"being started":                      {recorded(report.Pending, inJobs("w", time.Second)), KindStarting, "is starting it"},
	"no engine":                          {recorded(report.Pending, inJobs("", 0), func(f *facts) { f.Jobs.Consumers = nil }), KindNoWorker, "as the next one, and no process reads"},
	"memory":                             {recorded(report.Pending, inJobs("", 0), func(f *facts) { f.Memory = 91 }), KindNoRoom, "91 %"},
	"no record, queued":                  {recorded("", inJobs("", 0), func(f *facts) { f.Record, f.Running = nil, 10 }), KindQueued, "and there is no record with this id: it is polled"},
	"an equal job runs":                  {recorded(report.Pending, func(f *facts) { f.Leader = "7" }), KindShared, "fanfold why 7"},
	"many run":                           {recorded(report.Pending, inJobs("", 0), func(f *facts) { f.Running = 10 }), KindNoRoom, "10 jobs run, the maximum"},
	"slots of a limit":                   {querying(entered("a", 4, "", 0), slots(2, "7", "9"), limited("source/da", 1)), KindNoSlot, "all 1 that fanfold limit allows are taken, by jobs 7, 9"},
	"slots of a limit, the remedy":       {querying(entered("a", 0, "", 0), slots(2, "7"), limited("source/da", 1)), KindNoSlot, "fanfold limit source da reset: the limit was set 2"},
	"report limited, a source is paused": {recorded(report.Pending, func(f *facts) { f.Limited = true }, limited("report/r", 3), stops("source/da", 2, 3)), KindNoRoom, "2 of the 3 running jobs still need source da, which has been paused since 2"},
	"report limited, what resumes it":    {recorded(report.Pending, func(f *facts) { f.Limited = true }, limited("report/r", 3), stops("source/da", 2, 3)), KindNoRoom, "fanfold resume source da"},
	"report limited by hand":             {recorded(report.Pending, func(f *facts) { f.Limited = true }, limited("report/r", 3)), KindNoRoom, "at most 3 of them run at once"},
	"report limited by hand, the remedy": {recorded(report.Pending, func(f *facts) { f.Limited = true }, limited("report/r", 3)), KindNoRoom, "fanfold limit report r reset: the limit was set 2"},
	"slots taken, in the queue":          {querying(entered("a", 4, "", 0), slots(2, "7", "9", "7")), KindNoSlot, "it waits for a slot of database da: all 2 that databases.da.parallel allows are taken, by jobs 7, 9; 4 tasks are ahead of it in ka"},
	"slots taken, first":                 {querying(entered("a", 0, "", 0), slots(1, "7")), KindNoSlot, "raise databases.da.parallel"},
	"slots taken, just read":             {querying(entered("a", 0, "w", time.Millisecond), slots(1, "7")), KindNoSlot, "by job 7\n"},
	"slots taken, taken over":            {querying(owned("a", time.Second), slots(1, "7")), KindNoSlot, "all 1 that databases.da.parallel allows"},
	"slots taken, behind many":           {querying(unsearched("a"), slots(1, "7")), KindNoSlot, "at least 10,000 tasks are ahead of it"},
	"slots taken, and it waits":          {querying(waits("a", time.Second), blames(job.BlameSlots), slots(1, "7")), KindNoSlot, "by job 7; the next poll is in 1s"},
	"a slot was just freed":              {querying(waits("a", time.Second), blames(job.BlameSlots), slots(2, "7")), KindNoSlot, "1 of the 2 that databases.da.parallel allows are taken, by job 7"},
	"slots taken, in line":               {querying(owned("a", time.Second), slots(1, "7"), line("3", "4", "1", "5")), KindNoSlot, "by job 7; 2 tasks came before it"},
	"slots taken, and paused":            {querying(owned("a", time.Second), slots(1, "7"), held(job.BlameSlots), pauses("a")), KindPaused, "fanfold resume listener a"},
	"its query runs, and it is paused":   {querying(owned("a", time.Second), slots(1, "1"), pauses("a")), KindBarrier, "its query has been running"},
	"slots taken, next":                  {querying(owned("a", time.Second), slots(1, "7"), line("1", "5")), KindNoSlot, "by job 7; no task has waited longer"},
	"its slot, in work":                  {querying(entered("a", 0, "w", time.Second), slots(1, "1")), KindBarrier, "its query has been running"},
	"a slot, and many":                   {querying(entered("a", 0, "", 0), slots(7, "2", "3", "4", "5", "6", "7", "8")), KindNoSlot, "by jobs 2, 3, 4, 5, 6 and 2 others"},
	"slots of an API":                    {querying(reads("http"), entered("a", 0, "", 0), slots(1, "7")), KindNoSlot, "API v: all 1 that apis.v.parallel allows"},
	"slots taken, failing":               {querying(fails("a", time.Second, "deadlock", ""), slots(1, "7")), KindRetryWaiting, "deadlock"},
	"slots taken, with vendor":           {querying(waits("a", time.Second), slots(1, "7")), KindWaiting, "API vendor"},
	"slots taken, nobody reads":          {querying(unattended("a"), slots(1, "7")), KindNoWorker, "no worker reads ka"},
	"slots of its process":               {querying(waits("a", time.Second), blames(job.BlameTasks)), KindNoSlot, "raise max_connections of its database, and limits.tasks if it is set"},
	"the rate limit":                     {querying(waits("a", time.Second), blames(job.BlameRate)), KindRateLimited, "raise databases.da.rate"},
	"the rate limit, unread":             {querying(waits("a", time.Second), blames(job.BlameRate), entered("a", 0, "", 0), func(f *facts) { f.Delayed = nil }), KindRateLimited, "it waits for API vendor: job 5 is queued"},
	"in the queue":                       {recorded(report.Pending, inJobs("", 0), func(f *facts) { f.Running = 9 }), KindQueued, "9 jobs run; limits.running_jobs is 10"},
	"quarantined before a push":          {recorded(report.Pending, inJobs("", 0), func(f *facts) { f.Quarantined = &inspect.Quarantined{} }), KindQueued, "as the next one"},
	"in another form":                    {recorded(report.Pending, func(f *facts) { f.Record.ID, f.Quarantined = "01", &inspect.Quarantined{Entry: "5-1"} }), KindOtherID, "fanfold submit 01, then fanfold quarantine rm 5-1"},
	"quarantined in that form": {recorded(report.Pending, func(f *facts) {
		f.Quarantined = &inspect.Quarantined{Entry: "5-1", Reason: `the record's id is "01": push exactly that`}
	}), KindQuarantined, "fanfold submit 01, then fanfold quarantine rm 5-1"},
	"pushed in another form?": {recorded(report.Pending), KindNotPushed, "fanfold quarantine ls shows whether its id was pushed in another form, such as 01"},
	"quarantined":             {recorded(report.Pending, func(f *facts) { f.Quarantined = &inspect.Quarantined{Reason: "bad {name}"} }), KindQuarantined, "fanfold cancel 1 prevents that"},

	"report paused":              {recorded(report.Pending, func(f *facts) { f.Holds[scripts.PausedReport("r")] = scripts.Hold{Since: now} }), KindPaused, "fanfold resume report r"},
	"report unknown":             {recorded(report.Pending, func(f *facts) { f.Report = nil }), KindUnknownReport, "add the report"},
	"processing":                 {recorded(report.Processing), KindStateless, "its grace time of 1m ends"},
	"processing, grace over":     {recorded(report.Processing, func(f *facts) { f.Record.Age = time.Hour }), KindStateless, "is over"},
	"perhaps pushed":             {recorded(report.Pending, func(f *facts) { f.Jobs.Whole, f.Jobs.Searched = false, 10000 }), KindQueued, "at least 10,000 others"},
	"not pushed":                 {recorded(report.Pending), KindNotPushed, "fanfold submit 1"},
	"the settled state of an id": {running("FAILED", func(f *facts) { f.Record.Status = report.Pending; f.Jobs.Whole = true }), KindNotPushed, "was not pushed"},
}

// inJobs puts the id into the stream of jobs; a trigger has read it, unless that is empty.
func inJobs(trigger string, idle time.Duration) change {
	return func(f *facts) { f.Jobs.Entry = &entry{Consumer: trigger, Idle: idle} }
}

// waited says what the listener a waited for in its last try.
func waited(blame job.Blame) change {
	return func(f *facts) { f.of("a").Waits, f.of("a").Blame = "its limit", blame }
}

// held says what the listener a waits for in its process.
func held(blame job.Blame) change {
	return func(f *facts) {
		waited(blame)(f)
		f.of("a").Pause = f.of("a").Waits
	}
}

// ofJobs are meanings of jobs that run.
var ofJobs = map[string]meaning{
	"all tasks in work":     {running(job.StatusRun, owned("a", time.Second), owned("b", time.Second)), KindRunning, "It waits for a, b: a: its query has been running"},
	"one of two":            {querying(owned("a", time.Second)), KindBarrier, "1 of 2 listeners are done. It waits for a: its query has been running for 1m (try 1 of 3), with worker w/1"},
	"rows and a try before": {querying(owned("a", time.Second), func(f *facts) { f.of("a").Rows, f.of("a").Error = 7, "cut" }), KindBarrier, "; 7 rows so far; the last try failed: cut"},
	"a pause between parts": {querying(owned("a", time.Second), func(f *facts) {
		f.of("a").Rows, f.of("a").Parts, f.of("a").PartsRead, f.of("a").Pause = 7, 8, 3, "the database da is busy"
	}), KindBarrier,
		"; 3 of 8 parts and 7 rows so far; it pauses before the next part: the database da is busy"},
	"its query waits for the source": {querying(owned("a", time.Second), held(job.BlameBusy)), KindSourceBusy, "It waits for a: its limit"},
	"its query waits for the rate":   {querying(owned("a", time.Second), held(job.BlameRate)), KindRateLimited, "it waits for its limit"},
	"its query waits for a slot":     {querying(owned("a", time.Second), held(job.BlameSlots)), KindNoSlot, "it waits for its limit"},
	"its query waits in a process":   {querying(owned("a", time.Second), held(job.BlameTasks)), KindNoSlot, "it waits for its limit"},
	"its query waited, and runs":     {querying(owned("a", time.Second), waited(job.BlameBusy)), KindBarrier, "its query has been running"},
	"too busy":                       {querying(waits("a", time.Second), blames(job.BlameBusy)), KindSourceBusy, "API vendor: job 5 is queued; the next poll is in 1s"},
	"parts so far": {querying(owned("a", time.Second), func(f *facts) { f.of("a").Rows, f.of("a").Parts, f.of("a").PartsRead = 7, 8, 3 }), KindBarrier,
		"; 3 of 8 parts and 7 rows so far"},
	"the worst comes first": {running(job.StatusRun, owned("a", time.Second), unattended("b")), KindNoWorker, "It waits for a, b: b: no worker reads kb"},
	"asks an API":           {querying(reads("http"), owned("a", time.Second)), KindBarrier, "it has been asking API v for 1m"},
	"no listener is open":   {querying(func(f *facts) { f.Job.Steps[0].Done = true }), KindEnding, "fan-in is next"},
	"deadline passed":       {querying(owned("a", time.Second), func(f *facts) { f.Job.Deadline = now.Add(-time.Minute) }), KindNoScheduler, "no scheduler has failed it"},
	"deadline just passed":  {querying(owned("a", time.Second), func(f *facts) { f.Job.Deadline = now.Add(-time.Second) }), KindBarrier, "Its deadline passed 1s ago"},
	"record deleted":        {querying(owned("a", time.Second), func(f *facts) { f.Record = nil }), KindBarrier, "The record was deleted"},
	"records away":          {querying(owned("a", time.Second), func(f *facts) { f.Record, f.RecordErr = nil, away }), KindRecordsAway, "According to Redis: 1 of 2"},
	"superseded":            {querying(func(f *facts) { f.Record.Attempt = 1 }), KindSuperseded, "Redis has attempt 2 of the job, but the record has attempt 1"},

	"an older definition":            {querying(owned("a", time.Second), func(f *facts) { f.Job.Definition = "old" }), KindBarrier, "only a process that has it"},
	"a definition that nobody has":   {querying(orphaned, fails("a", time.Second, "x", "")), KindNoDefinition, "that definition; the last try failed: x"},
	"a report that nobody has":       {querying(orphaned, func(f *facts) { f.Report = nil }), KindNoDefinition, "or run fanfold cancel 1"},
	"a definition, restarted":        {querying(orphaned), KindNoDefinition, "attempt 3 starts with the current definition"},
	"a definition, waits":            {querying(orphaned, kept), KindNoDefinition, "its deadline: the job fails"},
	"a definition, last had":         {querying(orphaned), KindNoDefinition, "last seen 1m ago"},
	"a definition, no longer needed": {running(job.StatusFailing, orphaned, owned(fanIn, time.Second)), KindEnding, "is ending the job"},
	"paused, and its deadline waits": {querying(func(f *facts) {
		r := *f.Report
		r.DeadlineWaits = true
		f.Report, f.Job.Definition = &r, r.Hash()
		f.Holds[scripts.PausedListener("a")] = scripts.Hold{Since: now}
	}), KindPaused, "Its deadline is extended"},
}

// ofSteps are meanings of what is known of a step.
var ofSteps = map[string]meaning{
	"records refused the end":   {running(job.StatusPublishing, fails("@record", time.Second, "records: away", job.BlameRecords)), KindRecordsAway, "checks the records' database"},
	"source refuses, in work":   {querying(owned("a", time.Second), source(refuses)), KindSourceRefuses, "correct the DSN of database da"},
	"source refuses, retried":   {querying(fails("a", time.Second, "x", ""), source(refuses)), KindSourceRefuses, "it is tried again in 1s (try 1 of 3)"},
	"source away, in work":      {querying(owned("a", time.Second), source(away)), KindSourceAway, "worker w/1 has it, and database da does not answer from here: connection refused"},
	"source away, retried":      {querying(fails("a", time.Second, "x", ""), source(away)), KindSourceAway, "(connection refused); it is tried again in 1s"},
	"waits for a vendor, away":  {querying(waits("a", time.Second), source(away)), KindSourceAway, "it waits for API vendor: job 5 is queued; the next poll is in 1s"},
	"listener paused, failing":  {querying(fails("a", time.Second, "no table", ""), pauses("a"), func(f *facts) { f.Job.Steps[0].Tries = 1 }), KindPaused, "; its last try failed (1 of 3 tries are used): no table"},
	"running, to be cancelled":  {querying(owned("a", time.Second)), KindBarrier, "wait, or end the job with fanfold cancel 1"},
	"retry uses a try":          {querying(fails("a", time.Second, "deadlock", "")), KindRetryWaiting, "correct the cause; then fanfold delay run 1 tries it now, which uses a try"},
	"refused, to be paused":     {querying(owned("a", time.Second), source(refuses)), KindSourceRefuses, "fanfold pause listener a, so that no more tries are used, in every report that has it\nthen correct"},
	"nobody reads, listeners":   {querying(unattended("a")), KindNoWorker, "--roles listeners --listeners a, or check"},
	"listener paused":           {querying(fails("a", time.Second, "x", ""), source(away), pauses("a")), KindPaused, "fanfold resume listener a"},
	"listener paused, in work":  {querying(owned("a", time.Second), pauses("a")), KindBarrier, "its query has been running"},
	"hurried, not moved":        {querying(fails("a", -time.Minute, "x", "")), KindNoScheduler, "its next try was due 1m ago, and no scheduler has moved it; the last try failed: x"},
	"a poll that is not moved":  {querying(waits("a", -time.Minute)), KindNoScheduler, "next poll was due 1m ago"},
	"handed back":               {querying(back("a", time.Second)), KindNoWorker, "has handed it back; it is offered again in 1s"},
	"a fold handed back":        {running(job.StatusReady, back(fanIn, time.Second)), KindNoWorker, "It waits for fan-in: a process without its definition"},
	"nobody reads":              {querying(unattended("a")), KindNoWorker, "no worker reads ka, which has 3 entries"},
	"nobody reads, external":    {querying(reads(report.External), unattended("a")), KindNoWorker, "start the service that reads ka"},
	"nobody reads the fold":     {running(job.StatusReady, unattended(fanIn)), KindNoWorker, "--roles engine"},
	"worker dead, another one":  {querying(owned("a", -time.Second), entered("a", 0, "w", 0)), KindWorkerDead, "another worker takes it over by this time"},
	"worker dead":               {querying(owned("a", -time.Second), entered("a", 0, "w", 0), unattended("a")), KindWorkerDead, "worker w/1 took it 1m ago (try 1 of 3) and is dead: its lease ended 1s ago"},
	"fold, its worker dead":     {running(job.StatusPublishing, owned(fanIn, -time.Second), entered(fanIn, 0, "w", 0)), KindWorkerDead, "worker w/1 took it (try 1) and is dead"},
	"reader silent":             {querying(entered("a", 0, "x", time.Minute)), KindWorkerDead, "worker x took it"},
	"reader silent, no other":   {querying(entered("a", 0, "x", time.Minute), unattended("a")), KindWorkerDead, "No worker reads ka, so none can take it over."},
	"external reader not yet":   {querying(reads(report.External), entered("a", 0, "x", 20*time.Second)), KindBarrier, "it has been running for"},
	"sink refused":              {running(job.StatusFold, fails(fanIn, time.Second, "sink: 503", job.BlameSink)), KindSinkFails, "it failed and is tried again in 1s (try 1 of 7): sink: 503"},
	"retry":                     {querying(fails("a", time.Second, "deadlock", "")), KindRetryWaiting, "it failed and is tried again in 1s (try 1 of 3): deadlock"},
	"retry, not ours":           {querying(fails("a", time.Second, "deadlock", ""), notOurs), KindRetryWaiting, "only a process that has it can continue the job."},
	"spool away, of a listener": {querying(fails("a", time.Second, "spool: 503", job.BlameSpool)), KindSpoolFails, "it failed and is tried again in 1s (try 1 of 3): spool: 503"},
	"spool away, of fan-in":     {running(job.StatusFold, fails(fanIn, time.Second, "spool: 503", job.BlameSpool)), KindSpoolFails, "fanfold delay run 1 tries it now; fanfold doctor checks the spool"},
	"data in the spool":         {querying(owned("a", time.Second), func(f *facts) { f.Job.Bytes, f.Job.Spooled = 700, 3<<20 }), KindBarrier, "Its data: 700 B in Redis, 3.0 MB in the spool."},
	"sink refused, not ours":    {running(job.StatusFold, fails(fanIn, time.Second, "sink: 503", job.BlameSink), notOurs), KindSinkFails, "\nfanfold doctor checks the sink"},
	"vendor, not ours":          {querying(waits("a", time.Second), notOurs), KindWaiting, "only a process that has it"},
	"failing, retried":          {running(job.StatusFailing, fails("@record", time.Second, "x", ""), func(f *facts) { f.Job.Reason = "bad SQL" }), KindRetryWaiting, "The job will fail: bad SQL"},
	"worker dead, message lost": {querying(owned("a", -time.Second)), KindLost, "is dead, and its entry is no longer in ka"},
	"fold dead, message lost":   {running(job.StatusFold, owned(fanIn, -time.Second)), KindLost, "otherwise a scheduler does, within 10s"},
	"a retry that was removed":  {querying(fails("a", time.Second, "x", ""), func(f *facts) { f.Delayed = nil }), KindLost, "XADD ka '*' id 1 attempt 2"},
	"an end that was removed":   {running(job.StatusPublishing, func(f *facts) { f.Job.FanIn.Next, f.Job.FanIn.Error = now.Add(time.Second), "x" }), KindLost, "otherwise a scheduler does"},
	"message lost":              {running(job.StatusReady), KindLost, "XADD kf"},
	"in the queue":              {querying(entered("a", 4, "", 0)), KindQueued, "4 tasks are ahead of it in ka, which has 1 worker"},
	"next, after a failure":     {querying(entered("a", 0, "", 0), fails("a", time.Second, "x", ""), func(f *facts) { f.Delayed, f.of("a").Next = nil, time.Time{} }), KindQueued, "0 tasks are ahead of it in ka, which has 1 worker: the next free one takes it; the last try failed: x"},
	"ready, in the queue":       {running(job.StatusReady, entered(fanIn, 4, "", 0)), KindQueued, "4 jobs are ahead of it in kf"},
	"behind many":               {querying(unsearched("a")), KindQueued, "at least 10,000 tasks are ahead of it"},
	"waits for a vendor":        {querying(waits("a", 7*time.Second)), KindWaiting, "it waits for API vendor: job 5 is queued; the next poll is in 7s"},
	"read":                      {querying(entered("a", 0, "w", time.Second)), KindBarrier, "with worker w"},
	"external, in work":         {querying(reads(report.External), owned("a", time.Second)), KindBarrier, "it has been running for 1m"},
	"ending":                    {running(job.StatusFailing, owned(fanIn, time.Second), func(f *facts) { f.Job.Reason = "bad SQL" }), KindEnding, "worker w/1 is ending the job: bad SQL"},
	"folding":                   {running(job.StatusFold, owned(fanIn, time.Second)), KindFolding, "is making the file (try 1 of 7)"},
	"fold read":                 {running(job.StatusReady, entered(fanIn, 0, "w", time.Second)), KindFolding, "is making the file"},
}

// limited limits a source or a report by hand.
func limited(what string, n int) change {
	return func(f *facts) { f.Holds[scripts.LimitOf(what)] = scripts.Hold{Since: now, Who: "ann", Limit: n} }
}

// stops pauses a source, for which some of the running jobs wait.
func stops(what string, jobs, of int) change {
	return func(f *facts) {
		f.Holds[what] = scripts.Hold{Since: now, Who: "ann"}
		f.Stopped = stopped{what, jobs, of}
	}
}

// slots gives the source of listener a slots, which tasks of jobs have.
func slots(limit int, ids ...string) change {
	return func(f *facts) {
		f.Holders = map[string][]scripts.Holder{}
		for _, source := range []string{"da", "v"} {
			described := f.Sources[source]
			described.Parallel = limit
			f.Sources[source] = described
			for _, id := range ids {
				f.Holders[source] = append(f.Holders[source], scripts.Holder{ID: id, Attempt: 2, Listener: "a"})
			}
		}
	}
}

// line has tasks of jobs that wait for a slot of database da.
func line(ids ...string) change {
	return func(f *facts) {
		f.Line = map[string][]scripts.Holder{}
		for _, id := range ids {
			f.Line["da"] = append(f.Line["da"], scripts.Holder{ID: id, Attempt: 2, Listener: "a"})
		}
	}
}

// blames says whose limit listener a waits for.
func blames(by job.Blame) change { return func(f *facts) { f.of("a").Blame = by } }

// notOurs gives the job a definition that this configuration does not have, and that a process had until just now.
func notOurs(f *facts) {
	f.Job.Definition = "other"
	f.Seen = scripts.Seen{Now: now, Last: map[string]time.Time{f.Job.Member(): now}}
}

// TestNoDelayRunWithoutADefinition: fanfold delay run does not help a job whose definition no process may have
// any more, such as after a restart with a changed report.
func TestNoDelayRunWithoutADefinition(t *testing.T) {
	t.Parallel()
	for name, m := range ofSteps {
		if !strings.HasSuffix(name, "not ours") {
			continue
		}
		f := m.facts
		f.ID, f.Now, f.Keys, f.CLI = "1", now, scripts.NewKeys(report.DefaultKeys), "redis-cli"
		v := diagnose(f)
		if text := strings.Join(v.Remedies, "\n"); strings.Contains(text, "delay run") || slices.Contains(v.Remedies, "") || v.Delayed {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// pauses pauses a listener.
func pauses(listener string) change {
	return func(f *facts) { f.Holds[scripts.PausedListener(listener)] = scripts.Hold{Since: now} }
}

// TestDiagnose holds for every answer and every note some facts that reach it. It needs no
// server.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	for group, meanings := range map[string]map[string]meaning{"before": beforeTheStart, "job": ofJobs, "step": ofSteps} {
		for name, m := range meanings {
			t.Run(group+"/"+name, func(t *testing.T) {
				f := m.facts
				f.ID, f.Now, f.Keys, f.CLI = "1", now, scripts.NewKeys(report.DefaultKeys), "redis-cli"
				f.Limits = report.Limits{RunningJobs: 10, RecoverAfter: time.Minute, Lease: 10 * time.Second, RedisMemoryPercent: 80}
				v := diagnose(f)
				text := said(v)
				if v.Kind != m.kind || !strings.Contains(text, m.words) {
					t.Errorf("%s, not %s with %q:\n%s", v.Kind, m.kind, m.words, text)
				}
				if !slices.IsSortedFunc(v.Upcoming, func(a, b Upcoming) int { return a.At.Compare(b.At) }) {
					t.Errorf("not in the order of time: %+v", v.Upcoming)
				}
			})
		}
	}
}

// TestRulesNameWhatIsKnown: a name that is mistyped in a rule would never hold, or say nothing, and
// nothing asks for a name that no rule uses.
func TestRulesNameWhatIsKnown(t *testing.T) {
	t.Parallel()
	used := map[string]bool{} // false: known, and not used yet
	know(used, &ofJob)
	know(used, &ofStep)
	know(used, &ofBoth)
	for _, k := range Kinds() {
		used["="+string(k)] = true
	}
	for name := range made {
		used[name] = false
	}
	for name := range phrases {
		used["{"+name] = false
	}
	use := func(name string) {
		if of, ok := strings.CutPrefix(name, "1:"); ok {
			name = "{" + of
		}
		if _, ok := used[name]; !ok {
			t.Errorf("no fact, text or time is called %q", name)
		}
		used[name] = true
	}
	condition := func(when string) {
		for name := range strings.FieldsSeq(when) {
			use(strings.TrimPrefix(name, "!"))
		}
	}
	placeholder := regexp.MustCompile(`\{[^}]*`)
	for _, r := range slices.Concat(append(append(notes, slices.Collect(maps.Values(phrases))...), jobRules, stepRules)...) {
		condition(r.when)
		for _, text := range slices.Concat([]string{r.says, r.then}, r.more, r.do) {
			for _, found := range placeholder.FindAllString(text, -1) {
				use(found)
			}
		}
		if r.at != "" {
			use("@" + r.at)
		}
	}
	for _, ways := range made {
		condition(strings.Join(ways, " "))
	}
	condition("retries comes") // newStep and poll ask for them
	for name, is := range used {
		if !is {
			t.Errorf("no rule uses %q", name)
		}
	}
}

// know adds the names of a table: of facts, of texts after {, and of times after @.
func know[T any](used map[string]bool, all *table[T]) {
	for name := range all.is {
		used[name] = false
	}
	for name := range all.text {
		used["{"+name] = false
	}
	for name := range all.at {
		used["@"+name] = false
	}
}

// TestFactsOfNothing: every fact can be asked when nothing is known.
func TestFactsOfNothing(t *testing.T) {
	t.Parallel()
	d := newDiagnosis(&facts{})
	for name, is := range ofJob.is {
		if is(d) && !slices.Contains([]string{"full", "in-grace", "deadline-ahead", "ids-before-none", "push-missed"}, name) {
			t.Errorf("%s holds", name)
		}
	}
	for name, is := range ofBoth.is {
		if is(d.facts) {
			t.Errorf("%s holds", name)
		}
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

// TestSeverity: of the open steps of a job, the worst has a severity of its own, so that the kind of the job
// does not depend on their order.
func TestSeverity(t *testing.T) {
	t.Parallel()
	of := map[int]Kind{}
	for _, r := range stepRules {
		if other := cmp.Or(of[r.severity], r.kind); r.severity == 0 || other != r.kind {
			t.Errorf("%s has the severity %d of %s", r.kind, r.severity, other)
		}
		of[r.severity] = r.kind
	}
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
