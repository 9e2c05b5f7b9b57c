package scripts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// told does what a worker does that is told that nothing is left for its entry.
func (m *machine) told(t *rapid.T, h *mHand, outcome Outcome) {
	if outcome != Gone && outcome != Already || rapid.Bool().Draw(t, "it dies first") {
		return
	}
	if err := m.s.Streams.Ack(t.Context(), m.stream(h.step), h.e.id); err != nil {
		t.Fatal(err)
	}
	m.ack(h)
}

func (m *machine) take(t *rapid.T) {
	h := m.drawHand(t, canTake)
	m.told(t, h, m.takeTask(t, h, rapid.IntRange(0, 5).Draw(t, "answer") == 0))
}

// takeTask takes a task; the answer may be lost.
func (m *machine) takeTask(t *rapid.T, h *mHand, lost bool) Outcome {
	task := h.task
	if lost {
		task = new(Task)
		*task = *h.task
	}
	got, err := task.Take(t.Context(), Take{Owner: h.worker + "/take", Known: []string{"d"}, Redelivered: h.silent})
	is := m.openTask(h)
	want := OK
	switch {
	case m.mine(h) && m.job.tasks[h.step] != nil && m.job.tasks[h.step].done:
		want = Already
	case is == nil:
		want = Gone
	case is.owner == h.worker+"/take": // as before: an answer was lost
		is.leased = is.leased || h.task.Lease > 0
	case is.owner != "" && is.leased:
		want = Busy
	case !slices.Contains(m.streams[h.step], h.e):
		want = Gone
	default:
		if !is.waiting && (is.owner != "" || h.silent) {
			is.tries++
			is.tried, is.failed, is.blamed = true, true, false
		}
		m.drop(is)
		is.generation++
		is.owner, is.entry, is.taken, is.leased, is.waiting = h.worker+"/take", h.e.id, true, h.task.Lease > 0, false
		is.pause = ""
	}
	m.check(t, got, err, want)
	if want == OK && (task.Generation != is.generation || task.Tries != is.tries+1 || string(task.Memo) != is.memo || string(task.Parameters) != m.job.parameters) {
		t.Fatalf("taken: %+v, the model has %+v", task, is)
	}
	if want == OK && !lost {
		h.ready = true
	}
	return want
}

// drop removes what a task has stored.
func (m *machine) drop(is *mStep) {
	if is.ticket == "" {
		m.job.bytes -= 3 * is.chunks
	}
	is.chunks, is.writer = 0, nil
	is.ticket, is.segments, is.listedBy = "", 0, 0
}

func (m *machine) append(t *rapid.T) {
	h := m.drawHand(t, ofTask)
	chunk := chunkOf(rapid.Int64Range(0, 2).Draw(t, "number"), "1")
	got, err := h.task.Append(t.Context(), chunk)
	is := m.openTask(h)
	switch {
	case is == nil:
		m.check(t, got, err, Gone)
	case is.generation != h.task.Generation || is.writer != nil && is.writer != h:
		m.check(t, got, err, Busy)
	case is.ticket == "" && chunk.Number < is.chunks:
		m.check(t, got, err, Already)
	case is.ticket != "" || chunk.Number > is.chunks:
		if !errors.Is(err, ErrChunk) {
			t.Fatalf("%v %v, the model says that a chunk is missing", got, err)
		}
	default:
		m.check(t, got, err, OK)
		is.chunks++
		is.writer = h
		m.job.bytes += 3
	}
}

// list lists a segment, which says which worker has written it.
func (m *machine) list(t *rapid.T) {
	h, at := m.drawHand(t, ofTask), ""
	number := rapid.Int64Range(0, 2).Draw(t, "number")
	is := m.openTask(h)
	if is != nil && rapid.Bool().Draw(t, "next") {
		number = is.segments
	}
	if at = "file:///s/" + h.worker + "="; is != nil && is.ticket != "" && is.writer == h {
		at = strings.Split(is.ticket, " ")[0]
	}
	text := fmt.Sprintf("%d,%d,%d,%08x", segmentChunks, segmentChunks, segmentBytes, number)
	got, err := h.task.List(t.Context(), segmentOf(at, number, text))
	switch {
	case is == nil:
		m.check(t, got, err, Gone)
	case is.generation != h.task.Generation || is.writer != nil && is.writer != h:
		m.check(t, got, err, Busy)
	case number < is.segments:
		m.check(t, got, err, Already)
	case number > is.segments || is.ticket == "" && is.chunks > 0:
		if !errors.Is(err, ErrChunk) {
			t.Fatalf("%v %v, the model says that it does not follow", got, err)
		}
	case m.job.spooled()+segmentBytes > maxSpool:
		m.check(t, got, err, TooMuch)
	default:
		m.check(t, got, err, OK)
		if is.ticket == "" {
			is.ticket = at
		}
		is.ticket += " " + text
		is.segments, is.listedBy, is.writer = is.segments+1, is.generation, h
		is.chunks += segmentChunks
		if rapid.Bool().Draw(t, "it is the last one") {
			m.completeTask(t, h, is.chunks-1, true)
		}
	}
}

// openTicket is the ticket of a listener that can run again; nil: there is none.
func (m *machine) openTicket() *mTicket {
	i := slices.IndexFunc(m.tickets, func(k mTicket) bool {
		return m.job != nil && m.job.attempt == k.attempt && m.job.tasks[k.listener].done && m.job.tasks[k.listener].ticket == k.at
	})
	if i < 0 {
		return nil
	}
	return &m.tickets[i]
}

// reopen has a listener run again whose segments somebody could not read.
func (m *machine) reopen(t *rapid.T) { m.reopenTask(t, *m.openTicket()) }

// reopenAgain does so with a ticket that was read long ago.
func (m *machine) reopenAgain(t *rapid.T) {
	m.reopenTask(t, m.tickets[rapid.IntRange(0, len(m.tickets)-1).Draw(t, "ticket")])
}

func (m *machine) reopenTask(t *rapid.T, k mTicket) {
	delay := time.Duration(rapid.IntRange(0, 1).Draw(t, "delay")) * time.Hour
	got, err := m.s.Folds.Reopen(t.Context(), Reopen{Message{"1", k.attempt}, k.listener, k.at, "damaged", delay})
	j := m.job
	switch {
	case j == nil || j.attempt != k.attempt || j.status == job.StatusFailing:
		m.check(t, got, err, Gone)
		return
	case j.status == job.StatusPublishing:
		m.check(t, got, err, Busy)
		return
	}
	is := j.tasks[k.listener]
	if !is.done || is.ticket != k.at {
		m.check(t, got, err, Already)
		return
	}
	m.check(t, got, err, OK)
	if j.status != job.StatusRun {
		m.barriers[fmt.Sprintf("%d/%d", j.attempt, j.stage)]--
	}
	j.status, j.done, j.fence = job.StatusRun, j.done-1, j.fence+1
	j.fold.owner, j.fold.entry, j.fold.waiting = "", "", false
	delete(m.delayed, member(j.attempt, job.StepFanIn))
	j.reopened = append(j.reopened, k.listener)
	is.done, is.generation, is.gaveUp = false, is.listedBy+1, is.listedBy+1
	is.owner, is.entry, is.left, is.leased, is.waits = "", "", "", false, ""
	is.waiting, is.failed, is.blamed, is.tried, is.tries = true, true, true, true, is.tries+1
	m.drop(is)
	delete(m.lost, k.listener)
	if delay > 0 {
		m.delayed[member(j.attempt, k.listener)] = true
	} else {
		m.send(k.listener, j.attempt)
	}
}

func (m *machine) complete(t *rapid.T) {
	h := m.drawHand(t, ofTask)
	bare := rapid.Bool().Draw(t, "bare")
	number := int64(0)
	if is := m.openTask(h); is != nil && is.chunks > 0 {
		bare = true // a chunk comes along only if none is stored
		number = max(0, is.chunks-1+int64(rapid.SampledFrom([]int{0, 0, 0, -1, 1}).Draw(t, "number")))
	}
	m.completeTask(t, h, number, bare)
}

func (m *machine) completeTask(t *rapid.T, h *mHand, number int64, bare bool) Outcome {
	chunk := chunkOf(0, "1")
	if bare {
		chunk = Chunk{Number: number}
	}
	got, err := h.task.Complete(t.Context(), chunk, time.Millisecond)
	is := m.openTask(h)
	var want Outcome
	switch {
	case is != nil && is.generation == h.task.Generation && bare && is.writer != nil && is.writer != h:
		want = Busy
	case is != nil && is.generation == h.task.Generation && bare && number+1 != is.chunks:
		if !errors.Is(err, ErrChunk) {
			t.Fatalf("%v %v, the model says that a chunk is missing", got, err)
		}
		return Missing
	case is != nil && is.generation == h.task.Generation:
		if !bare {
			is.chunks++
			m.job.bytes += 3
		}
		is.writer = nil
		want = m.count(h, is)
		m.ack(h)
	case is != nil:
		want = m.replaced(h, is)
	default:
		want = m.counted(h)
		m.ack(h)
	}
	m.check(t, got, err, want)
	return want
}

// count counts a listener.
func (m *machine) count(h *mHand, is *mStep) Outcome {
	j := m.job
	is.done = true
	j.done++
	j.reopened = slices.DeleteFunc(j.reopened, func(name string) bool { return name == h.step })
	if is.ticket != "" {
		m.tickets = append(m.tickets, mTicket{j.attempt, h.step, is.ticket})
	}
	if j.done < j.target {
		return OK
	}
	j.status = job.StatusReady
	m.barriers[fmt.Sprintf("%d/%d", j.attempt, j.stage)]++
	step := job.StepFanIn
	if j.bytes > maxSmall {
		step = stepLarge
	}
	m.send(step, j.attempt, "stage", fmt.Sprint(j.stage), "bytes", fmt.Sprint(j.bytes))
	return Already
}

// counted is the answer to a hand whose task is not open.
func (m *machine) counted(h *mHand) Outcome {
	switch {
	case !m.mine(h) || m.job.tasks[h.step] == nil || !m.job.tasks[h.step].done:
		return Gone
	case m.job.status == job.StatusReady:
		return Already
	}
	return OK
}

func (m *machine) omit(t *rapid.T) {
	h := m.drawHand(t, ofTask)
	got, err := h.task.Omit(t.Context(), "optional", "broken")
	is := m.openTask(h)
	var want Outcome
	switch {
	case is == nil:
		want = m.counted(h)
		m.ack(h)
	case is.generation != h.task.Generation:
		want = m.replaced(h, is)
	default:
		m.drop(is)
		is.omitted = true
		want = m.count(h, is)
		m.ack(h)
	}
	m.check(t, got, err, want)
}

func (m *machine) keep(t *rapid.T) {
	h := m.drawHand(t, ofTask)
	m.keepTask(t, h)
}

func (m *machine) keepTask(t *rapid.T, h *mHand) Outcome {
	got, err := h.task.Renew(t.Context())
	is := m.openTask(h)
	want := OK
	switch {
	case is == nil:
		want = Gone
		m.ack(h)
	case is.generation != h.task.Generation:
		want = m.replaced(h, is)
	default:
		if is.generation == 0 && is.owner == "" {
			is.owner = h.worker // for people
		}
		is.taken, is.leased = true, is.leased || h.task.Lease > 0
		h.e.with = h.worker // if it exists
	}
	m.check(t, got, err, want)
	return want
}

func (m *machine) remember(t *rapid.T) {
	h := m.drawHand(t, ofTask)
	memo, pause := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "memo"), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "pause")
	if got, err := m.s.Tasks.Pause(t.Context(), h.task, pause, job.BlameBusy); err != nil {
		m.check(t, got, err, OK)
	}
	got, err := h.task.Remember(t.Context(), []byte(memo))
	is := m.openTask(h)
	switch {
	case is == nil:
		m.check(t, got, err, Gone)
	case is.generation != h.task.Generation:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		is.memo, is.pause = memo, pause
	}
}

func (m *machine) drawAgain(t *rapid.T) Requeue {
	return Requeue{
		Delay: time.Duration(rapid.IntRange(0, 1).Draw(t, "delay")) * time.Hour, Counts: rapid.Bool().Draw(t, "counts"),
		Error: rapid.SampledFrom([]string{"", "later"}).Draw(t, "error"), Blame: rapid.SampledFrom([]job.Blame{"", job.BlameSource}).Draw(t, "blame"),
	}
}

// giveUp notes that a step is given up, and sends it again.
func (m *machine) giveUp(h *mHand, is *mStep, token int64, step string, a Requeue) {
	is.gaveUp, is.left, is.waiting, is.tried = token+1, is.owner, true, true
	is.owner, is.entry, is.leased, is.pause = "", "", false, ""
	switch {
	case a.Waits:
		is.waits, is.blamed = a.Error, a.Blame != ""
	case a.Error != "":
		is.failed, is.blamed, is.waits = true, a.Blame != "", ""
	}
	if a.Counts {
		is.tries++
	}
	if a.Delay > 0 {
		m.delayed[member(m.job.attempt, step)] = true
	} else {
		m.send(h.step, m.job.attempt)
	}
}

func (m *machine) requeue(t *rapid.T) {
	h := m.drawHand(t, ofTask)
	again := m.drawAgain(t)
	again.Waits = !again.Counts && rapid.Bool().Draw(t, "waits")
	got, err := h.task.Requeue(t.Context(), again)
	is, token := m.openTask(h), h.task.Generation
	want := OK
	switch {
	case is == nil:
		want = Gone
		m.ack(h)
	case is.generation != token && is.gaveUp == token+1:
		m.ack(h)
	case is.generation != token:
		want = m.replaced(h, is)
	default:
		is.generation++
		m.giveUp(h, is, token, h.step, again)
		m.ack(h)
	}
	m.check(t, got, err, want)
}

func (m *machine) fail(t *rapid.T) {
	h := m.drawHand(t, ofTask)
	blame := rapid.SampledFrom([]job.Blame{"", job.BlameSource}).Draw(t, "blame")
	got, err := h.task.Fail(t.Context(), "broken", blame)
	is := m.openTask(h)
	want := OK
	switch {
	case m.mine(h) && m.job.status == job.StatusFailing:
		want = Already
		m.ack(h)
	case is == nil:
		want = Gone
		m.ack(h)
	case is.generation != h.task.Generation:
		want = m.replaced(h, is)
	default:
		m.failing()
		m.job.blamed = blame != ""
		m.ack(h)
	}
	m.check(t, got, err, want)
}

// failing is a decision from outside of fan-in, which loses its claim.
func (m *machine) failing() {
	j := m.job
	j.status, j.reason = job.StatusFailing, true
	j.fold.owner, j.fold.entry, j.fold.waiting = "", "", false
	j.fence++
	m.forget()
	m.send(job.StepFanIn, j.attempt, "stage", "0")
}

// forget removes the tasks from the delayed set.
func (m *machine) forget() {
	for l := range m.job.tasks {
		delete(m.delayed, member(m.job.attempt, l))
	}
}

// preempt ends the attempt for an older job. Its id is due later, which is taken from the delayed set
// at once: in this model nobody reads records.
func (m *machine) preempt(t *rapid.T) {
	attempt, j := m.near(t), m.job
	got, err := m.s.Memory.Preempt(t.Context(), Contender{ID: "1", Attempt: attempt}, Contender{ID: "0", Since: time.UnixMilli(1)})
	switch {
	case j == nil && m.tombstone != nil && m.tombstone.attempt == attempt && m.tombstone.status == job.StatusPreempted:
		m.check(t, got, err, OK)
	case j == nil || j.attempt != attempt:
		m.check(t, got, err, Gone)
	case j.status != job.StatusRun:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		j.status, m.tombstone, m.job = job.StatusPreempted, j, nil
		for l, is := range j.tasks {
			if !is.done && is.memo != "" {
				m.send(l, j.attempt, "cancel", "1", "memo", is.memo)
			}
			delete(m.delayed, member(j.attempt, l))
		}
		if n, err := m.client.ZRem(t.Context(), m.s.Keys.Delayed, "1").Result(); n != 1 || err != nil {
			t.Fatalf("its id is not delayed: %v", err)
		}
	}
}

func (m *machine) cancel(t *rapid.T) {
	attempt := m.near(t)
	got, _, err := m.s.Jobs.Cancel(t.Context(), "1", attempt, "cancelled")
	switch j := m.job; {
	case j == nil || attempt != j.attempt:
		m.check(t, got, err, Gone)
	case j.status == job.StatusFailing && j.cancelled:
		m.check(t, got, err, Already)
	case j.status == job.StatusFailing || j.status == job.StatusPublishing:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		for l, is := range j.tasks {
			if !is.done && is.memo != "" {
				m.send(l, j.attempt, "cancel", "1", "memo", is.memo)
			}
		}
		m.failing()
		delete(m.delayed, member(j.attempt, job.StepFanIn))
		j.cancelled = true
	}
}

func (m *machine) expire(t *rapid.T) {
	got, _, err := m.s.Jobs.Expire(t.Context(), "1")
	switch j := m.job; {
	case j == nil:
		m.check(t, got, err, Gone)
	case j.status == job.StatusFailing:
		m.check(t, got, err, Already)
	case !j.late || j.status == job.StatusPublishing:
		m.check(t, got, err, Busy)
	default:
		m.check(t, got, err, OK)
		m.failing()
	}
}

// stage is that of the entry of a hand; 0: any.
func (h *mHand) stage() (stage int64) {
	_, _ = fmt.Sscan(h.e.fields["stage"], &stage)
	return stage
}

func (m *machine) open(t *rapid.T) {
	m.openFold(t, m.drawHand(t, canOpen))
}

// openFold opens a small job, if it is READY and has nothing in the spool.
func (m *machine) openFold(t *rapid.T, h *mHand) bool {
	folds, err := m.s.Folds.Open(t.Context(), []Small{{Message: h.message(), Stage: h.stage(), Entry: h.entry(m)}})
	want := m.mine(h) && m.job.stage == h.stage() && m.job.status == job.StatusReady && m.job.spooled() == 0
	if err != nil || (folds[0] != nil) != want {
		t.Fatalf("opened %v %v, the model says %v", folds[0], err, want)
	}
	if want && h.fold == nil { // or it goes on with what it has
		h.fold = folds[0]
	}
	return want
}

func (m *machine) claim(t *rapid.T) {
	h := m.drawHand(t, canClaim)
	m.told(t, h, m.claimFold(t, h, rapid.IntRange(0, 5).Draw(t, "answer") == 0))
}

// claimFold claims a job; the answer may be lost.
func (m *machine) claimFold(t *rapid.T, h *mHand, lost bool) Outcome {
	got, fold, err := m.s.Folds.Claim(t.Context(), Claim{Message: h.message(), Stage: h.stage(), Worker: h.worker, Known: []string{"d"}, Redelivered: h.silent, Entry: h.entry(m)})
	if !m.mine(h) {
		m.check(t, got, err, Gone)
		return Gone
	}
	j, is := m.job, &m.job.fold
	want := OK
	if j.status == job.StatusFailing {
		want = ToFail
	}
	own := is.owner == "" && is.entry == h.e.id
	switch {
	case j.status == job.StatusRun && h.stage() < j.stage:
		want = Already
	case j.status == job.StatusRun:
		want = Gone
	case j.status != job.StatusFailing && h.stage() != 0 && h.stage() != j.stage:
		want = Already
	case j.status != job.StatusFailing && h.step == job.StepFanIn && (j.bytes > maxSmall || j.spooled() > 0):
		if want = Gone; slices.Contains(m.streams[h.step], h.e) {
			want = Large
			m.ack(h)
			m.send(stepLarge, j.attempt, "stage", fmt.Sprint(h.stage()), "bytes", fmt.Sprint(j.bytes), movedField, "1")
		}
	case is.owner == h.worker: // as before: an answer was lost
	case (is.owner != "" || j.status == job.StatusPublishing) && m.duplicates(h, is):
		want = Gone
	case (is.owner != "" || j.status == job.StatusPublishing) && !is.waiting && !h.silent && !own:
		want = Busy
	case !slices.Contains(m.streams[h.step], h.e):
		want = Gone
	default:
		if h.silent && !is.waiting {
			is.tries++
			is.tried, is.failed, is.blamed = true, true, false
		}
		if j.status == job.StatusReady {
			j.status = job.StatusFold
		}
		j.fence++
		is.owner, is.entry, is.waiting = h.worker, h.e.id, false
	}
	m.check(t, got, err, want)
	if want == OK || want == ToFail {
		if fold.Fence != j.fence || fold.Fold.Tries != is.tries+1 || fold.Status != j.status {
			t.Fatalf("claimed %+v, the model has %+v", fold.State, j)
		}
		if !lost {
			h.fold = fold
		}
	}
	return want
}

func (m *machine) publish(t *rapid.T) {
	m.publishFold(t, m.drawHand(t, ofFold), rapid.IntRange(0, 3).Draw(t, "answer") == 0)
}

func (m *machine) publishFold(t *rapid.T, h *mHand, lost bool) Outcome {
	f, claimed := h.fold, h.fold.claimed
	if lost {
		f = &Fold{State: new(job.State), Entry: f.Entry, claimed: f.claimed, s: f.s}
		*f.State = *h.fold.State
	}
	fence := f.Fence
	outcomes, err := m.s.Folds.Publish(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	want := Busy
	switch j := m.job; {
	case !m.mine(h) || j.stage != f.Stage || j.status == job.StatusRun || j.status == job.StatusReady && claimed:
		want = Gone
	case j.status == job.StatusReady || j.status == job.StatusFold && claimed && fence == j.fence:
		if j.late {
			want = Late
			break
		}
		want, j.status = OK, job.StatusPublishing
		if !claimed {
			j.fence++
			j.fold.entry = h.e.id
		}
	case j.status == job.StatusPublishing && claimed && fence == j.fence, j.status == job.StatusPublishing && !claimed && j.fold.owner == "" && j.fold.entry == h.e.id:
		want = OK
	}
	m.check(t, outcomes[0], nil, want)
	if want == OK && (f.Fence != m.job.fence || !f.claimed) {
		t.Fatalf("published %+v, the model's fence is %d", f, m.job.fence)
	}
	return want
}

func (m *machine) advance(t *rapid.T) {
	m.advanceFold(t, m.drawHand(t, canAdvance))
}

func (m *machine) advanceFold(t *rapid.T, h *mHand) Outcome {
	f, j := h.fold, m.job
	got, err := f.Advance(t.Context(), stages[f.Stage])
	want := OK
	switch {
	case m.mine(h) && j.status == job.StatusRun && j.stage > f.Stage:
		m.ack(h)
	case !m.mine(h) || j.stage != f.Stage:
		want = Gone
		m.ack(h)
	case f.claimed && (f.Fence != j.fence || j.status != job.StatusFold) || !f.claimed && j.status != job.StatusReady:
		want = m.replaced(h, &j.fold)
	default:
		gaveUp, left, waits := j.fold.gaveUp, j.fold.left, j.fold.waits
		j.stage, j.status, j.fold = j.stage+1, job.StatusRun, mStep{gaveUp: gaveUp, left: left, waits: waits}
		j.target++
		j.tasks["c"] = &mStep{stage: 2}
		m.send("c", j.attempt, "of", "r/d", "parameters", j.parameters)
		m.ack(h)
	}
	m.check(t, got, err, want)
	return want
}

func (m *machine) keepFold(t *rapid.T) { m.keepTheFold(t, m.drawHand(t, ofFold)) }

func (m *machine) keepTheFold(t *rapid.T, h *mHand) Outcome {
	f, j := h.fold, m.job
	got, err := f.Renew(t.Context())
	want := OK
	switch {
	case !m.mine(h):
		want = Gone
		m.ack(h)
	case !f.claimed && j.status != job.StatusReady, f.claimed && f.Fence != j.fence:
		want = m.replaced(h, &j.fold)
	case f.claimed && (j.status == job.StatusRun || j.status == job.StatusReady):
		want = Busy
	default:
		h.e.with = h.worker // if it exists
	}
	m.check(t, got, err, want)
	return want
}

func (m *machine) requeueFold(t *rapid.T) {
	h := m.drawHand(t, ofFold)
	again := m.drawAgain(t)
	step := rapid.SampledFrom([]string{job.StepFanIn, job.StepRecord}).Draw(t, "step")
	f, j := h.fold, m.job
	got, err := f.Requeue(t.Context(), step, again)
	want := OK
	switch {
	case !m.mine(h):
		want = Gone
		m.ack(h)
	case f.Fence != j.fence && j.fold.gaveUp == f.Fence+1:
		m.ack(h)
	case f.Fence != j.fence:
		want = m.replaced(h, &j.fold)
	case j.status == job.StatusRun || j.status == job.StatusReady:
		want = Busy
	default:
		j.fence++
		m.giveUp(h, &j.fold, f.Fence, step, again)
		m.ack(h)
	}
	m.check(t, got, err, want)
}

func (m *machine) failFold(t *rapid.T) {
	m.failTheFold(t, m.drawHand(t, ofFold), rapid.Bool().Draw(t, "remove"))
}

func (m *machine) failTheFold(t *rapid.T, h *mHand, remove bool) Outcome {
	f, j := h.fold, m.job
	got, err := f.Fail(t.Context(), "broken", job.BlameSink, remove)
	want := OK
	switch {
	case !m.mine(h):
		want = Gone
	case j.status == job.StatusFailing && f.Fence == j.fence:
		want = Already
	case f.Fence != j.fence || j.status == job.StatusRun || j.status == job.StatusReady:
		want = Busy
	default:
		j.status, j.reason, j.blamed, j.remove = job.StatusFailing, true, true, remove
		m.forget()
	}
	m.check(t, got, err, want)
	return want
}

// settle ends the job, also as what others have made of its record, such as CANCELLED.
func (m *machine) settle(t *rapid.T) {
	m.settleFold(t, m.drawHand(t, ofFold), rapid.SampledFrom([]string{"SUCCESS", "PARTIAL", "FAILED", "CANCELLED"}).Draw(t, "status"))
}

func (m *machine) settleFold(t *rapid.T, h *mHand, status string) Outcome {
	f, j := h.fold, m.job
	tell := rapid.Bool().Draw(t, "tell")
	outcomes, err := m.s.Folds.Settle(t.Context(), End{f, status, "x", tell})
	if err != nil {
		t.Fatal(err)
	}
	want := OK
	switch {
	case j == nil && m.tombstone != nil && m.tombstone.attempt == f.Attempt && m.tombstone.status == status:
		m.ack(h)
	case !m.mine(h):
		want = Gone
		m.ack(h)
	case j.status == job.StatusRun || j.status == job.StatusReady:
		want = Busy
	case f.Fence != j.fence:
		want = m.replaced(h, &j.fold)
	default:
		m.ack(h)
		m.tombstone = &mJob{attempt: j.attempt, status: status, parameters: j.parameters}
		m.job = nil
		if tell {
			m.firings++
		}
		dead := m.client.ZScore(t.Context(), m.s.Keys.Dead, "1").Err() == nil
		running := m.client.ZScore(t.Context(), m.s.Keys.Deadlines, "1").Err() == nil
		if dead != (status == string(report.Failed)) || running {
			t.Fatalf("ended as %s: it is listed as failed: %v, as running: %v", status, dead, running)
		}
	}
	m.check(t, outcomes[0], nil, want)
	if told := m.client.XLen(t.Context(), m.s.Keys.Finished).Val(); told != m.firings {
		t.Fatalf("%d ends are told, not %d", told, m.firings)
	}
	return want
}
