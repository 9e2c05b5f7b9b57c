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

// TestModel drives the scripts of one job in any order, with duplicates, stale
// attempts, dead owners and losses, beside a model of it. Every outcome and the
// whole state must agree after each step, and the barrier of a stage must have
// been announced exactly as often as it was reached.
func TestModel(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		name := fmt.Sprintf("%s_%d", testmain.Name(t), round)
		m := &machine{
			t: rt, client: client, model: model{tasks: map[string]*modelTask{}}, states: map[string]*State{}, barriers: map[string]int{},
			s: New(Options{Redis: client, Keys: Keys{Prefix: name + ":", Hash: name + "-"}}),
		}
		rt.Repeat(map[string]func(*rapid.T){
			"start": m.start, "take": m.take, "append": m.append, "complete": m.complete, "keep-task": m.keepTask, "remember": m.remember,
			"claim": m.claim, "advance": m.advance, "publish": m.publish, "settle": m.settle, "keep-fold": m.keepFold,
			"fail-task": m.failTask, "omit-task": m.omitTask, "fail-fold": m.failFold, "cancel": m.cancel, "expire": m.expire,
			"requeue-task": m.requeueTask, "requeue-fold": m.requeueFold, "lose": m.lose,
			"": m.agree,
		})
	})
}

// stages are the listeners of the job's stages.
var stages = [][]string{{"a", "b"}, {"c"}}

// model is what the state should be.
type model struct {
	there, data  bool
	late         bool // the deadline has passed
	attempt      int64
	parameters   string
	stage        int64
	status       string
	cancelled    bool
	fence        int64
	worker       string
	alive        bool // the worker's lease
	done, target int64
	foldTries    int64
	foldLeft     int64
	tasks        map[string]*modelTask
}

type modelTask struct {
	stage, tries, chunks int64
	owner, left          string
	memo, waits          string
	alive, done, omitted bool
}

func (m *model) live() bool {
	return slices.Contains([]string{StatusRun, StatusReady, StatusFold, StatusPublishing, StatusFailing}, m.status)
}

func (m *model) claimed() bool {
	return slices.Contains([]string{StatusFold, StatusPublishing, StatusFailing}, m.status)
}

// machine is the model beside the real thing.
type machine struct {
	model
	t        *rapid.T
	client   *redis.Client
	s        *Scripts
	states   map[string]*State // of each worker's last claim
	barriers map[string]int    // attempt/stage → how often the model reached it
}

func (m *machine) check(t *rapid.T, got Outcome, err error, want Outcome) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("%v %v, the model says %v", got, err, want)
	}
}

// near draws an attempt: the one that runs, or one beside it.
func (m *machine) near(t *rapid.T) int64 {
	return max(1, m.attempt+int64(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "attempt")))
}

func (m *machine) drawTask(t *rapid.T) (Task, *modelTask, bool) {
	task := Task{
		ID: "1", Attempt: m.near(t), Listener: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "listener"),
		Owner: rapid.SampledFrom([]string{"w1", "w2"}).Draw(t, "owner"), Lease: time.Hour,
	}
	dead := rapid.Bool().Draw(t, "dead")
	if dead {
		task.Lease = -time.Hour
	}
	mt := m.tasks[task.Listener]
	if !m.there || task.Attempt != m.attempt {
		mt = nil
	}
	return task, mt, dead
}

func (m *machine) start(t *rapid.T) {
	attempt := m.near(t)
	timeout := time.Hour
	late := rapid.SampledFrom([]bool{false, false, true}).Draw(t, "late")
	if late {
		timeout = -time.Minute
	}
	// A row of the same id, with parameters of its own, may have come instead.
	parameters := rapid.SampledFrom([]string{"{}", "{}", "{}", `{"b":1}`}).Draw(t, "parameters")
	got, err := m.s.Start(t.Context(), Start{ID: "1", Attempt: attempt, Report: "r", Definition: "d", Parameters: []byte(parameters), Timeout: timeout, Listeners: stages[0]})
	if m.there && m.attempt >= attempt {
		want := Another
		if m.attempt == attempt && m.parameters == parameters {
			want = Already
		}
		m.check(t, got, err, want)
		return
	}
	m.check(t, got, err, OK)
	m.model = model{
		there: true, data: true, late: late, attempt: attempt, parameters: parameters, stage: 1, status: StatusRun, target: 2,
		tasks: map[string]*modelTask{"a": {stage: 1}, "b": {stage: 1}},
	}
}

func (m *machine) take(t *rapid.T) {
	task, mt, dead := m.drawTask(t)
	got, taken, err := m.s.Take(t.Context(), task, []string{"d"})
	if got == OK && mt != nil && string(taken.Memo) != mt.memo {
		t.Fatalf("the memo is %q, the model's %q", taken.Memo, mt.memo)
	}
	switch {
	case mt == nil:
		m.check(t, got, err, Gone)
	case mt.done:
		m.check(t, got, err, Already)
	case m.status != StatusRun || mt.stage != m.stage || !m.data:
		m.check(t, got, err, Gone)
	case mt.owner != "" && mt.owner != task.Owner && mt.alive:
		m.check(t, got, err, Busy)
	case mt.owner == task.Owner:
		m.check(t, got, err, OK) // as before: an answer was lost
		mt.alive = !dead
	default:
		m.check(t, got, err, OK)
		mt.owner, mt.alive, mt.chunks = task.Owner, !dead, 0
		mt.tries++
	}
}

var oneValue = Chunk{Rows: 1, Columns: []map[string]string{{"name": "c"}}, Names: []string{"c"}, Fields: [][]byte{[]byte("[1]")}}

// stored is what append should answer; gap where a chunk is missing. One that is bare
// has nothing in it.
func (m *machine) stored(task Task, mt *modelTask, number int64, bare bool) (want Outcome, gap bool) {
	switch {
	case !m.there || task.Attempt != m.attempt || m.status != StatusRun || mt != nil && mt.done:
		return Gone, false
	case mt == nil || mt.owner != task.Owner:
		return Busy, false
	case number < mt.chunks:
		return Already, false
	case number > mt.chunks || bare && number == mt.chunks:
		return OK, true
	case !m.data:
		return Gone, false // whoever writes finds that
	}
	return OK, false
}

func (m *machine) append(t *rapid.T) {
	task, mt, dead := m.drawTask(t)
	chunk := oneValue
	chunk.Number = rapid.Int64Range(0, 2).Draw(t, "number")
	got, err := m.s.Append(t.Context(), task, chunk)
	want, gap := m.stored(task, mt, chunk.Number, false)
	if gap {
		if !errors.Is(err, ErrChunk) {
			t.Fatalf("%v %v, the model says that a chunk is missing", got, err)
		}
		return
	}
	m.check(t, got, err, want)
	if want == OK {
		mt.chunks++
		mt.alive = !dead
	}
}

func (m *machine) complete(t *rapid.T) {
	task, mt, dead := m.drawTask(t)
	chunk := oneValue
	bare := rapid.Bool().Draw(t, "bare")
	if bare {
		chunk = Chunk{}
	}
	if mt != nil {
		chunk.Number = max(0, mt.chunks+int64(rapid.SampledFrom([]int{0, 0, 0, -1, 1}).Draw(t, "number")))
	}
	got, err := m.s.Complete(t.Context(), task, chunk, time.Millisecond)
	want, gap := m.stored(task, mt, chunk.Number, bare)
	if gap || want == Already && chunk.Number+1 != mt.chunks {
		if !errors.Is(err, ErrChunk) {
			t.Fatalf("%v %v, the model says that a chunk is missing", got, err)
		}
		return
	}
	switch {
	case want == Busy:
		m.check(t, got, err, Busy)
		return
	case mt != nil && mt.done && m.status == StatusReady:
		m.check(t, got, err, Already)
		return
	case mt != nil && mt.done:
		m.check(t, got, err, OK)
		return
	case want == Gone, !m.data:
		m.check(t, got, err, Gone)
		return
	}
	if want == OK {
		mt.chunks++
		mt.alive = !dead
	}
	mt.done = true
	m.done++
	if m.done < m.target {
		m.check(t, got, err, OK)
		return
	}
	m.check(t, got, err, Already)
	m.status = StatusReady
	m.barriers[fmt.Sprintf("%d/%d", m.attempt, m.stage)]++
}

func (m *machine) keepTask(t *rapid.T) {
	task, mt, dead := m.drawTask(t)
	task.Entry = Entry{m.s.Task(task.Listener), Group, "c", "0-1"}
	got, err := m.s.KeepTask(t.Context(), task)
	switch {
	case !m.there || task.Attempt != m.attempt:
		m.check(t, got, err, Gone)
	case mt == nil || mt.owner != task.Owner || m.status != StatusRun || mt.done:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		mt.alive = !dead
	}
}

func (m *machine) remember(t *rapid.T) {
	task, mt, _ := m.drawTask(t)
	memo := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "memo")
	got, err := m.s.Remember(t.Context(), task, []byte(memo))
	switch {
	case !m.there || task.Attempt != m.attempt || m.status != StatusRun || mt != nil && mt.done:
		m.check(t, got, err, Gone)
	case mt == nil || mt.owner != task.Owner:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		mt.memo = memo
	}
}

func (m *machine) claim(t *rapid.T) {
	c := Claim{
		ID: "1", Attempt: m.near(t), Stage: rapid.Int64Range(0, 2).Draw(t, "stage"),
		Worker: rapid.SampledFrom([]string{"f1", "f2"}).Draw(t, "worker"), Lease: time.Hour, Known: []string{"d"},
	}
	dead := rapid.Bool().Draw(t, "dead")
	if dead {
		c.Lease = -time.Hour
	}
	got, state, err := m.s.Claim(t.Context(), c)
	switch {
	case !m.there || c.Attempt != m.attempt:
		m.check(t, got, err, Gone)
	case m.status == StatusRun && c.Stage < m.stage:
		m.check(t, got, err, Already)
	case m.status != StatusReady && !m.claimed():
		m.check(t, got, err, Gone)
	case m.status != StatusFailing && c.Stage != 0 && c.Stage != m.stage:
		m.check(t, got, err, Already)
	case m.worker != "" && m.worker != c.Worker && m.alive:
		m.check(t, got, err, Busy)
	case m.worker == c.Worker: // as before: an answer was lost
		m.alive = !dead
		want := OK
		if m.status == StatusFailing {
			want = ToFail
		}
		m.check(t, got, err, want)
		if state == nil || state.Fence != m.fence {
			t.Fatalf("claimed again: %+v, the model's fence is %d", state, m.fence)
		}
		m.states[c.Worker] = state
	default:
		want := OK
		if m.status == StatusFailing {
			want = ToFail
		}
		m.check(t, got, err, want)
		if m.status == StatusReady {
			m.status = StatusFold
		}
		m.fence++
		m.foldTries++
		m.worker, m.alive = c.Worker, !dead
		m.states[c.Worker] = state
		if state == nil || state.Fence != m.fence {
			t.Fatalf("claimed: %+v, the model's fence is %d", state, m.fence)
		}
	}
}

// drawClaim draws a claim, which may be stale; nil before the first.
func (m *machine) drawClaim(t *rapid.T) *State {
	if len(m.states) == 0 {
		t.Skip("nothing was claimed")
	}
	return m.states[rapid.SampledFrom(slices.Sorted(maps.Keys(m.states))).Draw(t, "worker")]
}

func (m *machine) mine(state *State) bool { return m.there && state.Attempt == m.attempt }

func (m *machine) advance(t *rapid.T) {
	state := m.drawClaim(t)
	if int(state.Stage) >= len(stages) {
		t.Skip("the last stage")
	}
	got, err := m.s.Advance(t.Context(), state, stages[state.Stage])
	switch {
	case !m.mine(state) || !m.data:
		m.check(t, got, err, Gone)
	case state.Fence != m.fence:
		m.check(t, got, err, Busy)
	case m.status == StatusRun && m.stage == state.Stage+1:
		m.check(t, got, err, OK)
	case m.status != StatusFold || m.stage != state.Stage:
		m.check(t, got, err, Gone)
	default:
		m.check(t, got, err, OK)
		m.stage, m.status, m.worker, m.foldTries = m.stage+1, StatusRun, "", 0
		m.target++
		m.tasks["c"] = &modelTask{stage: 2}
	}
}

func (m *machine) publish(t *rapid.T) {
	state := m.drawClaim(t)
	got, err := m.s.Publish(t.Context(), state)
	switch {
	case !m.mine(state):
		m.check(t, got, err, Gone)
	case state.Fence != m.fence:
		m.check(t, got, err, Busy)
	case m.status == StatusPublishing:
		m.check(t, got, err, OK)
	case m.status != StatusFold:
		m.check(t, got, err, Gone)
	case m.late:
		m.check(t, got, err, Late)
	default:
		m.check(t, got, err, OK)
		m.status = StatusPublishing
	}
}

// settle ends the job, also as what somebody made of its record, such as
// CANCELLED.
func (m *machine) settle(t *rapid.T) {
	state := m.drawClaim(t)
	outcome := rapid.SampledFrom([]string{"SUCCESS", "PARTIAL", "FAILED", "CANCELLED"}).Draw(t, "outcome")
	got, err := m.s.Settle(t.Context(), state, outcome, "x")
	switch {
	case !m.mine(state):
		m.check(t, got, err, Gone)
	case m.status == outcome:
		m.check(t, got, err, OK)
	case state.Fence != m.fence:
		m.check(t, got, err, Busy)
	case !m.claimed():
		m.check(t, got, err, Gone)
	default:
		m.check(t, got, err, OK)
		m.status, m.data = outcome, false
	}
}

func (m *machine) keepFold(t *rapid.T) {
	state := m.drawClaim(t)
	got, err := m.s.KeepFold(t.Context(), state, time.Hour, Entry{m.s.FanIn(), Group, "c", "0-1"})
	switch {
	case !m.mine(state):
		m.check(t, got, err, Gone)
	case state.Fence != m.fence || !m.claimed():
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		m.alive = true
	}
}

func (m *machine) failTask(t *rapid.T) {
	task, mt, _ := m.drawTask(t)
	got, err := m.s.FailTask(t.Context(), task, "broken")
	switch {
	case !m.there || task.Attempt != m.attempt:
		m.check(t, got, err, Gone)
	case m.status == StatusFailing:
		m.check(t, got, err, Already)
	case !m.live():
		m.check(t, got, err, Gone)
	case m.status != StatusRun || mt == nil || mt.owner != task.Owner:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		m.failing()
	}
}

func (m *machine) omitTask(t *rapid.T) {
	task, mt, _ := m.drawTask(t)
	got, err := m.s.OmitTask(t.Context(), task, "optional", "broken")
	switch {
	case mt != nil && mt.done && m.status == StatusReady:
		m.check(t, got, err, Already)
	case mt != nil && mt.done:
		m.check(t, got, err, OK)
	case !m.there || task.Attempt != m.attempt || m.status != StatusRun:
		m.check(t, got, err, Gone)
	case mt == nil || mt.owner != task.Owner:
		m.check(t, got, err, Busy)
	case !m.data:
		m.check(t, got, err, Gone)
	default:
		mt.done, mt.omitted, mt.chunks = true, true, 0
		m.done++
		if m.done < m.target {
			m.check(t, got, err, OK)
			return
		}
		m.check(t, got, err, Already)
		m.status = StatusReady
		m.barriers[fmt.Sprintf("%d/%d", m.attempt, m.stage)]++
	}
}

// failing is a decision from outside of fan-in, which loses its claim.
func (m *machine) failing() {
	m.status, m.worker = StatusFailing, ""
	m.fence++
}

func (m *machine) failFold(t *rapid.T) {
	state := m.drawClaim(t)
	got, err := m.s.FailFold(t.Context(), state, "broken", false)
	switch {
	case !m.mine(state):
		m.check(t, got, err, Gone)
	case m.status == StatusFailing && state.Fence == m.fence:
		m.check(t, got, err, Already)
	case !m.live():
		m.check(t, got, err, Gone)
	case state.Fence != m.fence || !m.claimed():
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		m.status = StatusFailing
	}
}

func (m *machine) cancel(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "rarely") > 0 {
		t.Skip("not now")
	}
	attempt := m.near(t)
	got, _, err := m.s.Cancel(t.Context(), "1", attempt, "cancelled")
	switch {
	case !m.there || attempt != m.attempt:
		m.check(t, got, err, Gone)
	case m.status == StatusFailing && m.cancelled:
		m.check(t, got, err, Already)
	case m.status == StatusFailing || m.status == StatusPublishing:
		m.check(t, got, err, Busy)
	case !m.live():
		m.check(t, got, err, Gone)
	default:
		m.check(t, got, err, OK)
		m.failing()
		m.cancelled = true
	}
}

func (m *machine) expire(t *rapid.T) {
	got, _, err := m.s.Expire(t.Context(), "1")
	switch {
	case !m.there:
		m.check(t, got, err, Gone)
	case m.status == StatusFailing:
		m.check(t, got, err, Already)
	case !m.live():
		m.check(t, got, err, Gone)
	case !m.late || m.status == StatusPublishing:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		m.failing()
	}
}

func (m *machine) drawAgain(t *rapid.T) Again {
	return Again{
		Delay:  time.Duration(rapid.IntRange(0, 1).Draw(t, "delay")) * time.Hour,
		Counts: rapid.Bool().Draw(t, "counts"), Error: "later",
	}
}

func (m *machine) requeueTask(t *rapid.T) {
	task, mt, _ := m.drawTask(t)
	again := m.drawAgain(t)
	again.Waits = !again.Counts && rapid.Bool().Draw(t, "waits")
	got, err := m.s.RequeueTask(t.Context(), task, again)
	switch {
	case !m.there || task.Attempt != m.attempt:
		m.check(t, got, err, Gone)
	case mt != nil && mt.left == task.Owner && mt.owner != task.Owner:
		m.check(t, got, err, Already)
	case mt == nil || mt.owner != task.Owner || m.status != StatusRun || mt.done:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		mt.owner, mt.left, mt.waits = "", task.Owner, ""
		if again.Waits {
			mt.waits = again.Error
		}
		if !again.Counts && mt.tries > 0 {
			mt.tries--
		}
	}
}

func (m *machine) requeueFold(t *rapid.T) {
	state := m.drawClaim(t)
	again := m.drawAgain(t)
	got, err := m.s.RequeueFold(t.Context(), state, rapid.SampledFrom([]string{StepFanIn, StepRecord}).Draw(t, "step"), again)
	switch {
	case !m.mine(state):
		m.check(t, got, err, Gone)
	case m.foldLeft != 0 && m.foldLeft == state.Fence:
		m.check(t, got, err, Already)
	case state.Fence != m.fence || !m.claimed():
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		m.worker, m.foldLeft = "", m.fence
		m.fence++
		if !again.Counts && m.foldTries > 0 {
			m.foldTries--
		}
	}
}

// lose takes the state, or the data, or everything away, as FLUSHALL or an
// operator may.
func (m *machine) lose(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "rarely") > 0 {
		t.Skip("not now")
	}
	if rapid.Bool().Draw(t, "data") {
		m.client.Del(t.Context(), m.s.Data("1"))
		m.data = false
		return
	}
	m.client.Del(t.Context(), m.s.State("1"), m.s.Data("1"))
	m.model = model{tasks: map[string]*modelTask{}, attempt: m.attempt}
}

// agree compares the whole state, and what was announced.
func (m *machine) agree(t *rapid.T) {
	state, err := m.s.Read(t.Context(), "1")
	if !m.there {
		if !errors.Is(err, ErrNoJob) {
			t.Fatalf("%+v %v, the model has no state", state, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Attempt, Stage, Fence, Done, Target, FoldTries int64
		Status, Worker                                 string
	}
	got := part{state.Attempt, state.Stage, state.Fence, state.Done, state.Target, state.Fold.Tries, state.Status, state.Worker}
	want := part{m.attempt, m.stage, m.fence, m.done, m.target, m.foldTries, m.status, m.worker}
	if got != want {
		t.Fatalf("the state is %+v, the model's %+v", got, want)
	}
	if m.cancelled != (state.Outcome == string(report.Cancelled)) {
		t.Fatalf("the outcome is %q, in the model it is cancelled: %v", state.Outcome, m.cancelled)
	}
	for name, mt := range m.tasks {
		task := state.Tasks[name]
		if task.Owner != mt.owner || task.Tries != mt.tries || task.Done != mt.done || task.Chunks != mt.chunks || task.Stage != mt.stage ||
			string(task.Memo) != mt.memo || task.Waits != mt.waits || (task.Policy != "") != mt.omitted {
			t.Fatalf("listener %s is %+v, the model's %+v", name, task, mt)
		}
	}
	data := m.client.HGetAll(t.Context(), m.s.Data("1")).Val()
	if (len(data) > 0) != m.data {
		t.Fatalf("data: %v, the model says %v", data, m.data)
	}
	for field := range data {
		if name, _, ok := strings.Cut(field, "."); ok && m.tasks[name].omitted {
			t.Fatalf("data: %s is left of a listener that was omitted", field)
		}
	}
	if m.data && (data["queryDoneCount"] != fmt.Sprint(m.done) || data["queryTarget"] != fmt.Sprint(m.target)) {
		t.Fatalf("data: %v, the model has %d of %d", data, m.done, m.target)
	}
	announced := map[string]int{}
	for _, e := range m.client.XRange(t.Context(), m.s.FanIn(), "-", "+").Val() {
		if stage, ok := e.Values["stage"].(string); ok && stage != "0" {
			announced[e.Values["attempt"].(string)+"/"+stage]++
		}
	}
	if !maps.Equal(announced, m.barriers) {
		t.Fatalf("barriers %v, the model's %v", announced, m.barriers)
	}
	for _, key := range []string{m.s.State("1"), m.s.Data("1")} {
		if m.client.TTL(t.Context(), key).Val() == -1 {
			t.Fatalf("%s has no TTL", key)
		}
	}
}
