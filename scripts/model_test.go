package scripts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestModel drives the scripts of one job in any order, with duplicates, stale attempts,
// generations and fences, dead workers, takeovers, lost answers and losses, beside a model
// of the hash, the streams and the delayed set. All of these must agree after every step;
// every step that is open must have a message that leads to it; and however a run ends,
// workers that are honest from then on bring the job to its end.
func TestModel(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		name := fmt.Sprintf("%s_%d", testmain.Name(t), round)
		m := &machine{
			t: rt, client: client, s: New(Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}}),
			streams: map[string][]*mEntry{}, delayed: map[string]bool{}, lost: map[string]bool{}, barriers: map[string]int{},
		}
		m.s.small, m.s.spool = maxSmall, maxSpool
		defer m.clean()
		for _, step := range steps {
			client.XGroupCreateMkStream(rt.Context(), m.stream(step), Group, "0")
		}
		actions := m.actions()
		rt.Repeat(map[string]func(*rapid.T){"": m.agree, "step": func(t *rapid.T) {
			var names []string
			for _, name := range slices.Sorted(maps.Keys(actions)) {
				if a := actions[name]; a.can() {
					names = append(names, slices.Repeat([]string{name}, a.weight)...)
				}
			}
			actions[evenly(names).Draw(t, "action")].do(t)
		}})
		m.end()
	})
}

// stages are the listeners of the job's stages, steps all that has a stream.
var (
	stages = [][]string{{"a", "b"}, {"c"}}
	steps  = []string{"a", "b", "c", job.StepFanIn, stepLarge}
)

// stepLarge is fan-in of jobs with more than maxSmall bytes: those to whose data two listeners
// have added.
const (
	stepLarge = "@large"
	maxSmall  = 5
)

// Every segment has segmentChunks chunks of one row, and segmentBytes bytes. A job may have maxSpool bytes of
// them.
const (
	segmentChunks = 2
	segmentBytes  = 7
	maxSpool      = 4 * segmentBytes
)

// isFold tells whether a step is fan-in.
func isFold(step string) bool { return step == job.StepFanIn || step == stepLarge }

// mEntry is an entry of a stream.
type mEntry struct {
	id     string // empty: not known yet
	fields map[string]string
	with   string // the worker for which it is pending; empty: it is unread
}

func (e *mEntry) cancel() bool { return e.fields["cancel"] != "" }

// mStep is what the state says of the tries of a step.
type mStep struct {
	owner, entry, left string
	tries              int64
	gaveUp             int64 // the generation or fence that was given up last, plus 1
	waiting, failed    bool  // next, error
	tried              bool  // tries
	blamed             bool
	waits              string
	leased, taken      bool
	generation, chunks int64
	writer             *mHand
	memo, pause        string
	stage              int64
	done, omitted      bool
	ticket             string // what lists its segments; empty: its dataset lies in Redis
	segments, listedBy int64  // their number, and the generation that has listed them
}

// mJob is a job that runs.
type mJob struct {
	attempt, stage, fence, done, target, bytes int64
	status, parameters                         string
	late, cancelled, reason, remove, blamed    bool
	noDeadline                                 bool // its deadline is lost
	fold                                       mStep
	tasks                                      map[string]*mStep
	reopened                                   []string // open tasks that were done before
}

// spooled is the number of bytes that the tasks have in the spool.
func (j *mJob) spooled() (n int64) {
	for _, is := range j.tasks {
		n += is.segments * segmentBytes
	}
	return n
}

// mTicket is a ticket that somebody has read.
type mTicket struct {
	attempt      int64
	listener, at string
}

// mHand is what a worker has in hand.
type mHand struct {
	e            *mEntry
	step, worker string
	silent       bool // the entry was delivered before
	ready        bool // it need not take the task
	task         *Task
	fold         *Fold
}

// machine is the model beside the real thing.
type machine struct {
	t      *rapid.T
	client *redis.Client
	s      *Scripts

	job       *mJob // nil: there is none
	tombstone *mJob
	attempt   int64 // the last one
	streams   map[string][]*mEntry
	delayed   map[string]bool
	hands     []*mHand
	workers   int
	lost      map[string]bool // steps whose message was lost on purpose
	barriers  map[string]int  // attempt/stage → how often it was reached
	firings   int64           // ends that are to be told
	tickets   []mTicket       // of listeners that were done
}

func (m *machine) stream(step string) string {
	switch step {
	case job.StepFanIn:
		return m.s.Keys.FanIn
	case stepLarge:
		return m.s.Keys.FanInLarge
	}
	return m.s.Keys.Task(step)
}

func (m *machine) clean() {
	keys := []string{m.s.Keys.Job("1"), m.s.Keys.Ended("1"), m.s.Keys.Deadlines, m.s.Keys.Delayed, m.s.Keys.Events, m.s.Keys.Jobs, m.s.Keys.Wake, m.s.Keys.Dead, m.s.Keys.Contenders, m.s.Keys.Full}
	for _, step := range steps {
		keys = append(keys, m.stream(step))
	}
	m.client.Del(m.t.Context(), keys...)
}

func (m *machine) check(t *rapid.T, got Outcome, err error, want Outcome) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("%v %v, the model says %v", got, err, want)
	}
	t.Logf("→ %v", want)
}

// send appends a message.
func (m *machine) send(step string, attempt int64, fields ...string) {
	e := &mEntry{fields: map[string]string{"id": "1", "attempt": fmt.Sprint(attempt)}}
	for i := 0; i < len(fields); i += 2 {
		e.fields[fields[i]] = fields[i+1]
	}
	m.streams[step] = append(m.streams[step], e)
}

// ack acknowledges the entry of a hand.
func (m *machine) ack(h *mHand) {
	m.streams[h.step] = slices.DeleteFunc(m.streams[h.step], func(e *mEntry) bool { return e == h.e })
}

// replaced is the answer to a worker whose generation or fence is an old one.
func (m *machine) replaced(h *mHand, is *mStep) Outcome {
	if is.entry == h.e.id {
		return Busy
	}
	m.ack(h)
	return Gone
}

// mine tells whether the job has the attempt of a hand.
func (m *machine) mine(h *mHand) bool {
	return m.job != nil && fmt.Sprint(m.job.attempt) == h.e.fields["attempt"]
}

// openTask is the task of a hand if it is open; nil otherwise.
func (m *machine) openTask(h *mHand) *mStep {
	if !m.mine(h) || m.job.status != job.StatusRun || m.job.tasks[h.step] == nil || m.job.tasks[h.step].done {
		return nil
	}
	return m.job.tasks[h.step]
}

func member(attempt int64, step string) string { return fmt.Sprintf("1/%d/%s", attempt, step) }

// evenly draws one of some texts: rapid.SampledFrom prefers the first ones.
func evenly(some []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := 0
		for range 12 {
			if n *= 2; rapid.Bool().Draw(t, "bit") {
				n++
			}
		}
		return some[n*len(some)>>12]
	})
}

// action is a step that a run can take.
type action struct {
	weight int // how often it is drawn
	can    func() bool
	do     func(t *rapid.T)
}

// actions are those of a run.
func (m *machine) actions() map[string]action {
	always := func() bool { return true }
	hand := func(fits func(*mHand) bool) func() bool {
		return func() bool { return slices.ContainsFunc(m.hands, fits) }
	}
	entry := func(fits func(*mEntry) bool) func() bool {
		return func() bool {
			return slices.ContainsFunc(steps, func(step string) bool { return slices.ContainsFunc(m.streams[step], fits) })
		}
	}
	exists := func() bool { return m.job != nil }
	return map[string]action{
		"start":          {2, always, m.start},
		"start anew":     {60, func() bool { return m.job == nil }, m.start},
		"read":           {60, entry(unread), m.read},
		"takeover":       {10, entry(isPending), m.takeover},
		"put back":       {1, hand(canPutBack), m.moveToEnd},
		"hand back":      {1, hand(m.canHandBack), m.handBack},
		"move":           {20, func() bool { return len(m.delayed) > 0 }, m.move},
		"resend":         {2, exists, m.resend},
		"take":           {20, hand(canTake), m.take},
		"append":         {10, hand(ofTask), m.append},
		"list":           {25, hand(ofTask), m.list},
		"reopen":         {30, func() bool { return m.openTicket() != nil }, m.reopen},
		"reopen again":   {10, func() bool { return len(m.tickets) > 0 }, m.reopenAgain},
		"complete":       {40, hand(ofTask), m.complete},
		"keep":           {5, hand(ofTask), m.keep},
		"remember":       {2, hand(ofTask), m.remember},
		"requeue":        {5, hand(ofTask), m.requeue},
		"fail":           {2, hand(ofTask), m.fail},
		"omit":           {2, hand(ofTask), m.omit},
		"open":           {20, hand(canOpen), m.open},
		"claim":          {20, hand(canClaim), m.claim},
		"publish":        {20, hand(ofFold), m.publish},
		"advance":        {30, hand(canAdvance), m.advance},
		"keep fold":      {5, hand(ofFold), m.keepFold},
		"requeue fold":   {5, hand(ofFold), m.requeueFold},
		"fail fold":      {2, hand(ofFold), m.failFold},
		"settle":         {5, hand(ofFold), m.settle},
		"cancel":         {1, always, m.cancel},
		"expire":         {2, always, m.expire},
		"preempt":        {1, always, m.preempt},
		"duplicate":      {2, exists, m.duplicate},
		"lose entry":     {1, entry(func(*mEntry) bool { return true }), m.loseEntry},
		"lose delayed":   {1, func() bool { return len(m.delayed) > 0 }, m.loseDelayed},
		"lose hash":      {1, exists, m.loseHash},
		"lose deadline":  {1, exists, m.loseDeadline},
		"repair":         {1, exists, m.repair},
		"lose tombstone": {1, func() bool { return m.tombstone != nil }, m.loseTombstone},
	}
}

func unread(e *mEntry) bool    { return e.with == "" }
func isPending(e *mEntry) bool { return e.with != "" }

func canPutBack(h *mHand) bool { return !h.e.cancel() }
func canTake(h *mHand) bool    { return h.task != nil }
func ofTask(h *mHand) bool     { return h.task != nil && h.ready } // it may go on without a take, or has taken
func canClaim(h *mHand) bool   { return isFold(h.step) }
func canOpen(h *mHand) bool    { return canClaim(h) && !h.silent && h.e.fields["bytes"] != "" }
func ofFold(h *mHand) bool     { return h.fold != nil }
func canAdvance(h *mHand) bool { return ofFold(h) && int(h.fold.Stage) < len(stages) }

func (m *machine) canHandBack(h *mHand) bool {
	return canPutBack(h) && (!m.mine(h) || canClaim(h) || m.job.tasks[h.step] != nil)
}

// near draws an attempt: the last one, or one beside it.
func (m *machine) near(t *rapid.T) int64 {
	return max(1, m.attempt+int64(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "attempt")))
}

// drawHand draws one of the hands that fit, among them those of dead workers.
func (m *machine) drawHand(t *rapid.T, fits func(*mHand) bool) *mHand {
	var all, some []*mHand
	for _, h := range m.hands {
		if fits(h) {
			if all = append(all, h); m.mine(h) && slices.Contains(m.streams[h.step], h.e) {
				some = append(some, h) // its entry still means something
			}
		}
	}
	if len(some) == 0 || rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
		some = all
	}
	// Later ones are more interesting.
	h := some[len(some)-1-min(rapid.IntRange(0, 5).Draw(t, "hand"), len(some)-1)]
	t.Logf("worker %s, %s, entry %s %v, silent %v", h.worker, h.step, h.e.id, h.e.fields, h.silent)
	if h.task != nil {
		t.Logf("generation %d", h.task.Generation)
	}
	if h.fold != nil {
		t.Logf("claimed %v, fence %d", h.fold.claimed, h.fold.Fence)
	}
	return h
}

func (m *machine) start(t *rapid.T) {
	next := attempt("1", time.Hour, "a,b")
	next.Attempt = m.near(t)
	have := m.job
	if have == nil {
		have = m.tombstone
	}
	if next.Attempt <= m.attempt && (have == nil || have.attempt < next.Attempt) {
		next.Attempt = m.attempt + 1 // after a loss the next attempt starts
	}
	late := rapid.SampledFrom([]bool{false, false, false, false, true}).Draw(t, "late")
	if late {
		next.Timeout = -time.Minute
	}
	// A row of the same id, with parameters of its own, may have come instead.
	next.Parameters = []byte(rapid.SampledFrom([]string{"{}", "{}", "{}", `{"b":1}`}).Draw(t, "parameters"))
	outcomes, err := m.s.Jobs.Start(t.Context(), "", next)
	if err != nil {
		t.Fatal(err)
	}
	if have != nil && have.attempt >= next.Attempt {
		want := Another
		if have.attempt == next.Attempt && have.parameters == string(next.Parameters) {
			want = Already
		}
		m.check(t, outcomes[0], nil, want)
		return
	}
	m.check(t, outcomes[0], nil, OK)
	m.attempt = next.Attempt
	m.job = &mJob{
		attempt: next.Attempt, parameters: string(next.Parameters), late: late, stage: 1, status: job.StatusRun, target: 2,
		tasks: map[string]*mStep{"a": {stage: 1}, "b": {stage: 1}},
	}
	for _, l := range stages[0] {
		m.send(l, next.Attempt, "of", "r/d", "parameters", m.job.parameters)
	}
	m.lost, m.barriers = map[string]bool{}, map[string]int{}
}

// duplicates tells whether a hand has another entry than the owner of a step, whose own one is
// pending.
func (m *machine) duplicates(h *mHand, is *mStep) bool {
	of := m.streams[h.step]
	if isFold(h.step) {
		of = slices.Concat(m.streams[job.StepFanIn], m.streams[stepLarge])
	}
	return is.entry != "" && is.entry != h.e.id && slices.ContainsFunc(of, func(e *mEntry) bool { return e.id == is.entry && isPending(e) })
}

// hand gives an entry to a new worker.
func (m *machine) hand(step string, e *mEntry, silent bool, lease time.Duration) *mHand {
	m.workers++
	h := &mHand{e: e, step: step, worker: fmt.Sprint("w", m.workers), silent: silent}
	e.with = h.worker
	entry := h.entry(m)
	message, ok := entry.Message()
	if !ok {
		m.t.Fatal("no message", e.fields)
	}
	if !isFold(step) && !e.cancel() {
		h.task, h.ready = m.s.Tasks.New(message, step, entry)
		h.ready = h.ready && !silent
		h.task.Lease = lease
	}
	m.hands = append(m.hands, h)
	m.t.Logf("worker %s has entry %s of %s %v, silent %v", h.worker, e.id, step, e.fields, silent)
	return h
}

func (h *mHand) entry(m *machine) Entry {
	return Entry{Stream: m.stream(h.step), Consumer: h.worker, ID: h.e.id, Fields: h.e.fields}
}

func (h *mHand) message() Message {
	message, _ := Entry{Fields: h.e.fields}.Message()
	return message
}

// drawEntry draws an entry that fits, and its step.
func (m *machine) drawEntry(t *rapid.T, fits func(*mEntry) bool) (string, *mEntry) {
	var some []*mEntry
	of := map[*mEntry]string{}
	for _, step := range steps {
		for _, e := range m.streams[step] {
			if fits(e) {
				some, of[e] = append(some, e), step
			}
		}
	}
	e := some[rapid.IntRange(0, len(some)-1).Draw(t, "entry")]
	return of[e], e
}

func (m *machine) read(t *rapid.T) {
	step, _ := m.drawEntry(t, unread)
	m.readNext(t, step)
}

// readNext reads the next entry of a stream.
func (m *machine) readNext(t *rapid.T, step string) *mHand {
	i := slices.IndexFunc(m.streams[step], func(e *mEntry) bool { return e.with == "" })
	h := m.hand(step, m.streams[step][i], false, rapid.SampledFrom([]time.Duration{0, 0, 0, time.Hour}).Draw(t, "lease"))
	found, err := m.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: Group, Consumer: h.worker, Streams: []string{m.stream(step), ">"}, Count: 1, Block: -1}).Result()
	if err != nil || found[0].Messages[0].ID != h.e.id {
		t.Fatalf("read %v %v, the model says %+v", found, err, h.e)
	}
	return h
}

func (m *machine) takeover(t *rapid.T) {
	step, e := m.drawEntry(t, isPending)
	m.takeOver(t, step, e)
}

// takeOver gives a pending entry to another worker.
func (m *machine) takeOver(t *rapid.T, step string, e *mEntry) *mHand {
	h := m.hand(step, e, true, rapid.SampledFrom([]time.Duration{0, 0, 0, time.Hour}).Draw(t, "lease"))
	ids, err := m.client.XClaimJustID(t.Context(), &redis.XClaimArgs{Stream: m.stream(step), Group: Group, Consumer: h.worker, Messages: []string{e.id}}).Result()
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	return h
}

func (m *machine) moveToEnd(t *rapid.T) {
	h := m.drawHand(t, canPutBack)
	if err := m.s.Streams.MoveToEnd(t.Context(), h.entry(m)); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(m.streams[h.step], h.e) {
		return
	}
	m.ack(h)
	again := &mEntry{fields: maps.Clone(h.e.fields)}
	delete(again.fields, "of")
	delete(again.fields, "parameters")
	again.fields[movedField] = "1"
	m.streams[h.step] = append(m.streams[h.step], again)
}

func (m *machine) handBack(t *rapid.T) {
	h := m.drawHand(t, m.canHandBack)
	var err error
	if isFold(h.step) {
		err = m.s.Folds.HandBack(t.Context(), h.message(), h.entry(m))
	} else {
		err = h.task.HandBack(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if h.e.with != h.worker && slices.Contains(m.streams[h.step], h.e) {
		return // another worker has taken the entry over
	}
	m.ack(h)
	if m.mine(h) {
		m.delayed[member(m.job.attempt, strings.Replace(h.step, stepLarge, job.StepFanIn, 1))] = true
		m.step(h.step).waiting = true
	}
}

// step is what the job says of a step.
func (m *machine) step(step string) *mStep {
	if isFold(step) {
		return &m.job.fold
	}
	return m.job.tasks[step]
}

// move moves a member of the delayed set whose time has come.
func (m *machine) move(t *rapid.T) {
	m.moveMember(t, rapid.SampledFrom(slices.Sorted(maps.Keys(m.delayed))).Draw(t, "member"))
}

func (m *machine) moveMember(t *rapid.T, member string) {
	later, err := job.ParseLater(member)
	if err != nil {
		t.Fatal(err)
	}
	m.client.ZAdd(t.Context(), m.s.Keys.Delayed, redis.Z{Member: member, Score: float64(time.Now().Add(-time.Minute).UnixMilli())})
	step, listener := job.StepFanIn, ""
	if later.Step[0] != '@' {
		step, listener = later.Step, later.Step
	}
	late, unknown, err := m.s.Clock.Move(t.Context(), m.stream(step), listener, []Move{{Member: member, ID: "1", Field: "attempt", Value: fmt.Sprint(later.Attempt)}})
	if err != nil {
		t.Fatal(err)
	}
	current := m.job != nil && m.job.attempt == later.Attempt
	switch {
	case current && listener != "" && m.job.tasks[listener] == nil:
		if len(unknown) != 1 || len(late) != 0 {
			t.Fatalf("moved %d, unknown %d: the job does not have the task", len(late), len(unknown))
		}
		if _, err := m.s.Clock.Refuse(t.Context(), unknown, false); err != nil {
			t.Fatal(err)
		}
	case listener != "" && (!current || m.job.status != job.StatusRun || m.job.tasks[listener].done):
		if len(late)+len(unknown) != 0 {
			t.Fatalf("moved %d, unknown %d: the task is not to be done", len(late), len(unknown))
		}
	default:
		if len(late) != 1 {
			t.Fatalf("%s has not moved", member)
		}
		m.send(step, later.Attempt)
	}
	delete(m.delayed, member)
}

// has tells whether a message leads to a step of the job.
func (m *machine) has(step string) bool {
	of := m.streams[step]
	if step == job.StepFanIn {
		of = slices.Concat(of, m.streams[stepLarge])
	}
	return slices.ContainsFunc(of, func(e *mEntry) bool {
		return !e.cancel() && e.fields["attempt"] == fmt.Sprint(m.job.attempt)
	})
}

// waitsLater tells whether a member of the delayed set leads to a step of the job.
func (m *machine) waitsLater(step string) bool {
	return m.delayed[member(m.job.attempt, step)] || step == job.StepFanIn && m.delayed[member(m.job.attempt, job.StepRecord)]
}

func (m *machine) resend(t *rapid.T) {
	m.resendStep(t, rapid.SampledFrom(steps[:4]).Draw(t, "step"))
}

func (m *machine) resendStep(t *rapid.T, step string) {
	message := Message{"1", m.job.attempt}
	lost, err := m.s.Streams.Lost(t.Context(), step, []Message{message})
	if err != nil {
		t.Fatal(err)
	}
	entry, ok := lost[message]
	if ok == m.has(step) || entry.ID != "" {
		t.Fatalf("lost: %v %+v, the model has a message: %v", ok, entry, m.has(step))
	}
	if !ok {
		return
	}
	got, err := m.s.Streams.Resend(t.Context(), message, step, entry)
	want := OK
	if step == job.StepFanIn {
		if m.job.status == job.StatusRun {
			want = Gone
		}
	} else {
		if task := m.job.tasks[step]; m.job.status != job.StatusRun || task == nil || task.done {
			want = Gone
		} else if task.leased {
			want = Busy
		}
	}
	if want != Gone && m.waitsLater(step) {
		want = Busy
	}
	m.check(t, got, err, want)
	if want != OK {
		return
	}
	m.step(step).waiting = true
	if step == job.StepFanIn {
		m.send(step, m.job.attempt, "stage", "0")
	} else {
		m.send(step, m.job.attempt)
	}
	delete(m.lost, step)
}

func (m *machine) duplicate(t *rapid.T) {
	step := rapid.SampledFrom(steps).Draw(t, "step")
	if err := m.client.XAdd(t.Context(), &redis.XAddArgs{Stream: m.stream(step), Values: []string{"id", "1", "attempt", fmt.Sprint(m.job.attempt)}}).Err(); err != nil {
		t.Fatal(err)
	}
	m.send(step, m.job.attempt)
}

// loseEntry takes a message away, as a Redis that has lost writes may.
func (m *machine) loseEntry(t *rapid.T) {
	step, e := m.drawEntry(t, func(*mEntry) bool { return true })
	if err := m.s.Streams.Ack(t.Context(), m.stream(step), e.id); err != nil {
		t.Fatal(err)
	}
	m.ack(&mHand{step: step, e: e})
	m.lost[strings.Replace(step, stepLarge, job.StepFanIn, 1)] = true
}

func (m *machine) loseDelayed(t *rapid.T) {
	gone := rapid.SampledFrom(slices.Sorted(maps.Keys(m.delayed))).Draw(t, "member")
	m.client.ZRem(t.Context(), m.s.Keys.Delayed, gone)
	delete(m.delayed, gone)
	later, _ := job.ParseLater(gone)
	m.lost[strings.Replace(later.Step, job.StepRecord, job.StepFanIn, 1)] = true
}

func (m *machine) loseHash(t *rapid.T) {
	m.client.Del(t.Context(), m.s.Keys.Job("1"))
	m.job = nil
}

func (m *machine) loseDeadline(t *rapid.T) {
	m.client.Del(t.Context(), m.s.Keys.Deadlines, m.s.Keys.Wake)
	m.job.noDeadline = true
}

// repair restores the deadline, as a pass over the records does.
func (m *machine) repair(t *rapid.T) {
	want := Gone
	if m.job.noDeadline {
		want, m.job.noDeadline = Already, false
	}
	if outcome, err := m.s.Clock.Repair(t.Context(), "1"); outcome != want || err != nil {
		t.Fatal(outcome, err)
	}
}

func (m *machine) loseTombstone(t *rapid.T) {
	m.client.Del(t.Context(), m.s.Keys.Ended("1"))
	m.tombstone = nil
}
