package scripts

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/scripts/job"
)

// end brings the job to its end. First, in every round, each entry goes to another worker
// while all of those live that have had one: however many entries lead to a step, workers do
// not take it from each other for ever, since one entry is left soon. Then the workers do
// their work.
func (m *machine) end() {
	t := m.t
	for range 3 {
		m.allIn(t, func(h *mHand) { m.slow(t, h) })
		for _, h := range m.hands {
			switch {
			case ofTask(h):
				m.keepTask(t, h)
			case ofFold(h):
				m.keepTheFold(t, h)
			}
		}
		m.agree(t)
	}
	for _, step := range steps {
		if n := len(m.streams[step]); n > 1 {
			t.Fatalf("%s has %d entries, although all of its workers live: %v", step, n, m.streams[step])
		}
	}
	for round := 0; ; round++ {
		if m.job != nil {
			m.repair(t)
			for _, step := range steps {
				m.endLease(t, step)
				if step != stepLarge {
					m.resendStep(t, step)
				}
			}
			m.agree(t)
		} else if outcome, err := m.s.Clock.Repair(t.Context(), "1"); err != nil || outcome != OK && outcome != Gone {
			t.Fatal(outcome, err)
		}
		m.allIn(t, func(h *mHand) { m.work(t, h) })
		m.agree(t)
		left := len(m.delayed)
		for _, step := range steps {
			left += len(m.streams[step])
		}
		if left == 0 && m.job == nil {
			break
		}
		if round == 10 {
			t.Fatalf("%d messages are left of %+v", left, m.job)
		}
	}
	if n := m.client.ZCard(t.Context(), m.s.Keys.Deadlines).Val(); n != 0 {
		t.Fatal("it has a deadline after its end")
	}
}

// allIn gives every message to a worker.
func (m *machine) allIn(t *rapid.T, do func(h *mHand)) {
	for member := range m.delayed {
		m.moveMember(t, member)
	}
	for _, step := range steps {
		m.agree(t) // which finds the ids of entries
		for _, e := range slices.Clone(m.streams[step]) {
			if !slices.Contains(m.streams[step], e) {
				continue // acknowledged meanwhile
			}
			m.endLease(t, step)
			if e.with == "" {
				do(m.readNext(t, step))
			} else {
				do(m.takeOver(t, step, e))
			}
		}
	}
}

// endLease ends the lease of a task, if it has one.
func (m *machine) endLease(t *rapid.T, step string) {
	if m.job != nil && m.job.tasks[step] != nil && m.job.tasks[step].leased {
		m.client.HDel(t.Context(), m.s.Keys.Job("1"), step+":lease")
		m.job.tasks[step].leased = false
	}
}

// slow begins with the work for an entry.
func (m *machine) slow(t *rapid.T, h *mHand) (outcome Outcome) {
	switch {
	case h.e.cancel():
		outcome = Gone
	case isFold(h.step) && !h.silent && h.e.fields["bytes"] != "" && m.openFold(t, h):
		return OK
	case isFold(h.step):
		outcome = m.claimFold(t, h, false)
	case h.ready:
		return OK
	default:
		outcome = m.takeTask(t, h, false)
	}
	if outcome == Gone || outcome == Already {
		if err := m.s.Streams.Ack(t.Context(), m.stream(h.step), h.e.id); err != nil {
			t.Fatal(err)
		}
		m.ack(h)
	}
	return outcome
}

// work does the work for an entry.
func (m *machine) work(t *rapid.T, h *mHand) {
	outcome := m.slow(t, h)
	switch {
	case outcome != OK && outcome != ToFail:
	case h.task != nil:
		is := m.openTask(h)
		m.completeTask(t, h, 0, is == nil || is.chunks > 0)
	case outcome == ToFail:
		m.settleFold(t, h, "FAILED")
	case int(h.fold.Stage) < len(stages) && h.fold.Status != job.StatusPublishing:
		m.advanceFold(t, h)
	default:
		switch m.publishFold(t, h, false) {
		case OK:
			m.settleFold(t, h, "SUCCESS")
		case Late:
			if h.fold.claimed && m.failTheFold(t, h, false) == OK {
				m.settleFold(t, h, "FAILED")
			} else if outcome, _, err := m.s.Jobs.Expire(t.Context(), "1"); err != nil || outcome != OK {
				t.Fatal(outcome, err)
			} else {
				m.failing()
			}
		}
	}
}
