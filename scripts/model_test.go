package scripts

import (
	"errors"
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
			t: rt, client: client, s: New(Options{Redis: client, Keys: Keys{Prefix: name + ":", Hash: name + "-"}}),
			streams: map[string][]*mEntry{}, delayed: map[string]bool{}, lost: map[string]bool{}, barriers: map[string]int{},
		}
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
	steps  = []string{"a", "b", "c", StepFanIn}
)

// mEntry is an entry of a stream.
type mEntry struct {
	id     string // empty: not known yet
	fields map[string]string
	with   string // the worker for which it is pending; empty: it is unread
}

func (e *mEntry) first() bool  { return e.fields["of"] != "" }
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
	memo               string
	stage              int64
	done, omitted      bool
}

// mJob is a job that runs.
type mJob struct {
	attempt, stage, fence, done, target, bytes int64
	status, parameters                         string
	late, cancelled, reason, remove, blamed    bool
	fold                                       mStep
	tasks                                      map[string]*mStep
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
}

func (m *machine) stream(step string) string {
	if step == StepFanIn {
		return m.s.FanIn()
	}
	return m.s.Task(step)
}

func (m *machine) clean() {
	keys := []string{m.s.Job("1"), m.s.Ended("1"), m.s.Deadlines(), m.s.Delayed(), m.s.Events(), m.s.Jobs(), m.s.Wake(), m.s.Dead()}
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
	if !m.mine(h) || m.job.status != StatusRun || m.job.tasks[h.step] == nil || m.job.tasks[h.step].done {
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
		"put back":       {1, hand(canPutBack), m.putBack},
		"hand back":      {1, hand(m.canHandBack), m.handBack},
		"move":           {20, func() bool { return len(m.delayed) > 0 }, m.move},
		"resend":         {2, exists, m.resend},
		"take":           {20, hand(canTake), m.take},
		"append":         {10, hand(ofTask), m.append},
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
		"double":         {2, exists, m.double},
		"lose entry":     {1, entry(func(*mEntry) bool { return true }), m.loseEntry},
		"lose delayed":   {1, func() bool { return len(m.delayed) > 0 }, m.loseDelayed},
		"lose hash":      {1, exists, m.loseHash},
		"lose tombstone": {1, func() bool { return m.tombstone != nil }, m.loseTombstone},
	}
}

func unread(e *mEntry) bool    { return e.with == "" }
func isPending(e *mEntry) bool { return e.with != "" }

func canPutBack(h *mHand) bool { return !h.e.cancel() }
func canTake(h *mHand) bool    { return h.task != nil }
func ofTask(h *mHand) bool     { return h.task != nil && h.ready } // it may go on without a take, or has taken
func canClaim(h *mHand) bool   { return h.step == StepFanIn }
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
	outcomes, err := m.s.Start(t.Context(), "", next)
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
		attempt: next.Attempt, parameters: string(next.Parameters), late: late, stage: 1, status: StatusRun, target: 2,
		tasks: map[string]*mStep{"a": {stage: 1}, "b": {stage: 1}},
	}
	for _, l := range stages[0] {
		m.send(l, next.Attempt, "of", "r/d", "parameters", m.job.parameters)
	}
	m.lost, m.barriers = map[string]bool{}, map[string]int{}
}

// hand gives an entry to a new worker.
func (m *machine) hand(step string, e *mEntry, silent bool, lease time.Duration) *mHand {
	m.workers++
	h := &mHand{e: e, step: step, worker: fmt.Sprint("w", m.workers), silent: silent}
	e.with = h.worker
	entry := Entry{Stream: m.stream(step), Group: Group, Consumer: h.worker, ID: e.id}
	message, ok := ParseMessage(e.fields)
	if !ok {
		m.t.Fatal("no message", e.fields)
	}
	if step != StepFanIn && !e.cancel() {
		h.task, h.ready = m.s.NewTask(message, step, entry, e.fields)
		h.ready = h.ready && !silent
		h.task.Lease = lease
	}
	m.hands = append(m.hands, h)
	m.t.Logf("worker %s has entry %s of %s %v, silent %v", h.worker, e.id, step, e.fields, silent)
	return h
}

func (h *mHand) entry(m *machine) Entry {
	return Entry{Stream: m.stream(h.step), Group: Group, Consumer: h.worker, ID: h.e.id}
}

func (h *mHand) message() Message {
	message, _ := ParseMessage(h.e.fields)
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

func (m *machine) putBack(t *rapid.T) {
	h := m.drawHand(t, canPutBack)
	if err := m.s.PutBack(t.Context(), m.stream(h.step), h.e.id, h.e.fields); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(m.streams[h.step], h.e) {
		return
	}
	m.ack(h)
	again := &mEntry{fields: maps.Clone(h.e.fields)}
	delete(again.fields, "of")
	delete(again.fields, "parameters")
	again.fields[putBack] = "1"
	m.streams[h.step] = append(m.streams[h.step], again)
}

func (m *machine) handBack(t *rapid.T) {
	h := m.drawHand(t, m.canHandBack)
	var err error
	if h.step == StepFanIn {
		err = m.s.HandBackFold(t.Context(), h.message(), h.entry(m))
	} else {
		err = h.task.HandBack(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	m.ack(h)
	if m.mine(h) {
		m.delayed[member(m.job.attempt, h.step)] = true
		m.step(h.step).waiting = true
	}
}

// step is what the job says of a step.
func (m *machine) step(step string) *mStep {
	if step == StepFanIn {
		return &m.job.fold
	}
	return m.job.tasks[step]
}

// move moves a member of the delayed set whose time has come.
func (m *machine) move(t *rapid.T) {
	m.moveMember(t, rapid.SampledFrom(slices.Sorted(maps.Keys(m.delayed))).Draw(t, "member"))
}

func (m *machine) moveMember(t *rapid.T, member string) {
	later, err := ParseLater(member)
	if err != nil {
		t.Fatal(err)
	}
	m.client.ZAdd(t.Context(), m.s.Delayed(), redis.Z{Member: member, Score: float64(time.Now().Add(-time.Minute).UnixMilli())})
	step, listener := StepFanIn, ""
	if later.Step[0] != '@' {
		step, listener = later.Step, later.Step
	}
	late, strange, err := m.s.Move(t.Context(), m.stream(step), listener, []Move{{Member: member, ID: "1", Field: "attempt", Value: fmt.Sprint(later.Attempt)}})
	if err != nil {
		t.Fatal(err)
	}
	current := m.job != nil && m.job.attempt == later.Attempt
	switch {
	case current && listener != "" && m.job.tasks[listener] == nil:
		if len(strange) != 1 || len(late) != 0 {
			t.Fatalf("moved %d, strange %d: the job does not have the task", len(late), len(strange))
		}
		if _, err := m.s.Refuse(t.Context(), strange, false); err != nil {
			t.Fatal(err)
		}
	case listener != "" && (!current || m.job.status != StatusRun || m.job.tasks[listener].done):
		if len(late)+len(strange) != 0 {
			t.Fatalf("moved %d, strange %d: the task is not to be done", len(late), len(strange))
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
	return slices.ContainsFunc(m.streams[step], func(e *mEntry) bool {
		return !e.cancel() && e.fields["attempt"] == fmt.Sprint(m.job.attempt)
	})
}

// waitsLater tells whether a member of the delayed set leads to a step of the job.
func (m *machine) waitsLater(step string) bool {
	return m.delayed[member(m.job.attempt, step)] || step == StepFanIn && m.delayed[member(m.job.attempt, StepRecord)]
}

func (m *machine) resend(t *rapid.T) {
	m.resendStep(t, rapid.SampledFrom(steps).Draw(t, "step"))
}

func (m *machine) resendStep(t *rapid.T, step string) {
	message := Message{"1", m.job.attempt}
	lost, err := m.s.Lost(t.Context(), m.stream(step), []Message{message})
	if err != nil {
		t.Fatal(err)
	}
	entry, ok := lost[message]
	if ok == m.has(step) || entry != "" {
		t.Fatalf("lost: %v %q, the model has a message: %v", ok, entry, m.has(step))
	}
	if !ok {
		return
	}
	var got Outcome
	want := OK
	if step == StepFanIn {
		got, err = m.s.ResendFold(t.Context(), message, entry)
		if m.job.status == StatusRun {
			want = Gone
		}
	} else {
		got, err = m.s.ResendTask(t.Context(), message, step, entry)
		if task := m.job.tasks[step]; m.job.status != StatusRun || task == nil || task.done {
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
	if step == StepFanIn {
		m.send(step, m.job.attempt, "stage", "0")
	} else {
		m.send(step, m.job.attempt)
	}
	delete(m.lost, step)
}

func (m *machine) double(t *rapid.T) {
	step := rapid.SampledFrom(steps).Draw(t, "step")
	if err := m.client.XAdd(t.Context(), &redis.XAddArgs{Stream: m.stream(step), Values: []string{"id", "1", "attempt", fmt.Sprint(m.job.attempt)}}).Err(); err != nil {
		t.Fatal(err)
	}
	m.send(step, m.job.attempt)
}

// loseEntry takes a message away, as a Redis that has lost writes may.
func (m *machine) loseEntry(t *rapid.T) {
	step, e := m.drawEntry(t, func(*mEntry) bool { return true })
	if err := m.s.Ack(t.Context(), m.stream(step), e.id); err != nil {
		t.Fatal(err)
	}
	m.ack(&mHand{step: step, e: e})
	m.lost[step] = true
}

func (m *machine) loseDelayed(t *rapid.T) {
	gone := rapid.SampledFrom(slices.Sorted(maps.Keys(m.delayed))).Draw(t, "member")
	m.client.ZRem(t.Context(), m.s.Delayed(), gone)
	delete(m.delayed, gone)
	later, _ := ParseLater(gone)
	m.lost[strings.Replace(later.Step, StepRecord, StepFanIn, 1)] = true
}

func (m *machine) loseHash(t *rapid.T) {
	m.client.Del(t.Context(), m.s.Job("1"))
	m.job = nil
}

func (m *machine) loseTombstone(t *rapid.T) {
	m.client.Del(t.Context(), m.s.Ended("1"))
	m.tombstone = nil
}

// expected are the fields of the hash but for times and texts for people.
func (m *machine) expected() map[string]string {
	j := m.job
	want := map[string]string{
		"queryDoneCount": fmt.Sprint(j.done), "queryTarget": fmt.Sprint(j.target), "parameters": j.parameters, "listeners": "a,b",
	}
	if j.stage == 2 {
		want["listeners"] = "a,b;c"
	}
	set := func(is bool, field, value string) {
		if is {
			want[field] = value
		}
	}
	set(j.cancelled, "outcome", string(report.Cancelled))
	set(j.reason, "reason", "T")
	set(j.blamed, "blame", "T")
	set(j.remove, "remove", "1")
	open := "|"
	names := slices.Concat(stages...)
	for _, name := range append(names, StepFanIn) {
		is := &j.fold
		if name != StepFanIn {
			if is = j.tasks[name]; is == nil {
				continue
			}
		}
		set(is.owner != "", name+":owner", is.owner)
		set(is.entry != "", name+":entry", is.entry)
		set(is.left != "", name+":left", is.left)
		set(is.tried, name+":tries", fmt.Sprint(is.tries))
		set(is.gaveUp > 0, name+":generation", fmt.Sprint(is.gaveUp-1))
		set(is.waiting, name+":next", "T")
		set(is.failed, name+":error", "T")
		set(is.blamed, name+":blame", "T")
		set(is.waits != "", name+":waits", is.waits)
		set(is.memo != "", name+":memo", is.memo)
		set(is.taken, name+":taken", "T")
		set(is.leased, name+":lease", "T")
		set(is.writer != nil, name+":writer", "T")
		if name == StepFanIn {
			continue
		}
		found := fmt.Sprintf(`chunks=%d rows=%d bytes=%d columns=[{"name":"c","type":"integer"}]`, is.chunks, is.chunks, 3*is.chunks)
		switch {
		case is.omitted:
			want[name+":found"] = "omitted=optional error=broken"
		case is.done:
			want[name+":found"] = found
		case is.chunks > 0:
			want[name+":part"] = found
		}
		for chunk := range is.chunks {
			want[Field(name, "c", chunk)] = "[1]"
		}
		if !is.done {
			if open += name; is.generation > 0 {
				open += fmt.Sprint("#", is.generation)
			}
			open += "|"
		}
	}
	want["job"] = fmt.Sprintf("%d %s %d %d T %d/%d %d %s T T r/d/%s", j.attempt, j.status, j.stage, j.fence, j.done, j.target, j.bytes, open, digest([]byte(j.parameters)))
	return want
}

// agree compares everything.
func (m *machine) agree(t *rapid.T) {
	ctx := t.Context()
	pipe := m.client.Pipeline()
	hash, ended := pipe.HGetAll(ctx, m.s.Job("1")), pipe.Get(ctx, m.s.Ended("1"))
	ttl, endedTTL := pipe.PTTL(ctx, m.s.Job("1")), pipe.PTTL(ctx, m.s.Ended("1"))
	deadline, wake := pipe.ZScore(ctx, m.s.Deadlines(), "1"), pipe.PExpireTime(ctx, m.s.Wake())
	delayed := pipe.ZRange(ctx, m.s.Delayed(), 0, -1)
	streams, pending := map[string]*redis.XMessageSliceCmd{}, map[string]*redis.XPendingExtCmd{}
	for _, step := range steps {
		streams[step] = pipe.XRange(ctx, m.stream(step), "-", "+")
		pending[step] = pipe.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: m.stream(step), Group: Group, Start: "-", End: "+", Count: 1000})
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	for _, step := range steps {
		m.agreeStream(t, step, streams[step].Val(), pending[step].Val())
	}
	if want := slices.Sorted(maps.Keys(m.delayed)); !slices.Equal(slices.Sorted(slices.Values(delayed.Val())), want) {
		t.Fatalf("delayed: %v, the model has %v", delayed.Val(), want)
	}
	if (ended.Err() == nil) != (m.tombstone != nil) || m.tombstone != nil && !strings.HasPrefix(ended.Val(), fmt.Sprintf("%d %s r/d/", m.tombstone.attempt, m.tombstone.status)) {
		t.Fatalf("the tombstone is %q, the model's %+v", ended.Val(), m.tombstone)
	}
	if m.tombstone != nil && (endedTTL.Val() <= 0 || endedTTL.Val() > Kept) {
		t.Fatalf("the tombstone lasts %v", endedTTL.Val())
	}
	if m.job == nil {
		if len(hash.Val()) > 0 {
			t.Fatalf("the hash is %v, the model has none", hash.Val())
		}
		return
	}
	m.agreeHash(t, hash.Val())
	if ttl.Val() <= 0 {
		t.Fatalf("the TTL of the hash is %v", ttl.Val())
	}
	if deadline.Err() != nil {
		t.Fatal("it has no deadline")
	}
	if at := int64(deadline.Val()); at > time.Now().UnixMilli() && (wake.Val() <= 0 || wake.Val().Milliseconds() > at) {
		t.Fatalf("the deadline is %d, the wake key ends at %d", at, wake.Val().Milliseconds())
	}
	m.agreeState(t)
	for key, n := range m.barriers {
		if n > 1 {
			t.Fatalf("barrier %s was reached %d times", key, n)
		}
	}
	// Every step that is open has a message that leads to it.
	for name, task := range m.job.tasks {
		if m.job.status == StatusRun && !task.done && !m.lost[name] && !m.has(name) && !m.waitsLater(name) {
			t.Fatalf("no message leads to task %s", name)
		}
	}
	if m.job.status != StatusRun && !m.lost[StepFanIn] && !m.has(StepFanIn) && !m.waitsLater(StepFanIn) {
		t.Fatalf("no message leads to the job, which is %s", m.job.status)
	}
}

// agreeStream compares the entries of a stream, and notes the ids of new ones.
func (m *machine) agreeStream(t *rapid.T, step string, entries []redis.XMessage, pending []redis.XPendingExt) {
	t.Helper()
	want := m.streams[step]
	if len(entries) != len(want) {
		t.Fatalf("%s has %d entries, the model %d", step, len(entries), len(want))
	}
	with := map[string]string{}
	for _, p := range pending {
		with[p.ID] = p.Consumer
	}
	for i, e := range entries {
		if want[i].id == "" {
			want[i].id = e.ID
		}
		got := map[string]string{}
		for name, value := range e.Values {
			got[name], _ = value.(string)
		}
		if want[i].id != e.ID || !maps.Equal(got, want[i].fields) || with[e.ID] != want[i].with {
			t.Fatalf("%s has %v with %q, the model %+v", step, e, with[e.ID], want[i])
		}
		delete(with, e.ID)
	}
	if len(with) > 0 {
		t.Fatalf("%s has pending entries that do not exist: %v", step, with)
	}
}

func (m *machine) agreeHash(t *rapid.T, fields map[string]string) {
	t.Helper()
	got := map[string]string{}
	for field, value := range fields {
		for _, suffix := range []string{":next", ":error", ":blame", ":taken", ":lease", ":writer", "reason", "blame"} {
			if strings.HasSuffix(field, suffix) {
				value = "T"
			}
		}
		if words := strings.Split(value, " "); field == "job" && len(words) == 11 {
			words[4], words[8], words[9] = "T", "T", "T"
			value = strings.Join(words, " ")
		}
		if strings.HasSuffix(field, ":found") {
			words := strings.SplitN(value, " ", 3)
			if value = strings.Join(words[1:], " "); strings.HasPrefix(value, "ms=") {
				value = words[2]
			}
		}
		got[field] = value
	}
	want := m.expected()
	for field, value := range want {
		if got[field] != value {
			t.Fatalf("%s is %q, the model's %q", field, got[field], value)
		}
	}
	for field, value := range got {
		if _, ok := want[field]; !ok {
			t.Fatalf("%s is %q, the model does not have it", field, value)
		}
	}
}

// agreeState compares what Read makes of the hash.
func (m *machine) agreeState(t *rapid.T) {
	t.Helper()
	state, err := m.s.Read(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	j := m.job
	if state.Attempt != j.attempt || state.Stage != j.stage || state.Status != j.status || state.Fence != j.fence || state.Worker != j.fold.owner ||
		state.Done != j.done || state.Target != j.target || state.Bytes != j.bytes || state.Fold.Tries != j.fold.tries ||
		(state.Outcome == string(report.Cancelled)) != j.cancelled || len(state.Tasks) != len(j.tasks) || state.Report != "r" || state.Definition != "d" {
		t.Fatalf("read %+v, the model has %+v", state, j)
	}
	for name, is := range j.tasks {
		task, tries := state.Tasks[name], is.tries
		if is.owner != "" || is.done {
			tries++ // with the one that runs, or the last
		}
		if task.Owner != is.owner || task.Tries != tries || task.Done != is.done || task.Chunks != is.chunks || task.Stage != is.stage || task.Left != is.left ||
			!is.done && task.Generation != is.generation || string(task.Memo) != is.memo || task.Waits != is.waits || (task.Policy != "") != is.omitted || task.Next.IsZero() == is.waiting {
			t.Fatalf("read %s %+v, the model has %+v", name, task, is)
		}
	}
}
