package command

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// oneReport is a report whose query sleeps as long as a parameter says.
const oneReport = `
  slow:
    parameters: {seconds: {type: decimal, default: "0"}}
    stages:
      - listeners:
          - {name: one, database: db, query: "SELECT 1 AS k, SLEEP(:seconds) AS v"}
`

// quarantined returns the reasons in the quarantine.
func (s *stack) quarantined() []string {
	s.t.Helper()
	var reasons []string
	for _, m := range s.b.Redis.XRange(s.t.Context(), s.b.Partitions.First().Keys.Quarantined, "-", "+").Val() {
		reasons = append(reasons, m.Values["reason"].(string))
	}
	return reasons
}

// idle waits until all streams and the deadlines are empty. It fails the test if Redis keeps a key
// without a TTL that is not documented to stay.
func (s *stack) idle() {
	s.t.Helper()
	ctx := s.t.Context()
	var streams, others []string
	for _, p := range s.b.Partitions {
		k := p.Keys
		streams = append(streams, k.Jobs, k.FanIn, k.FanInLarge)
		others = append(others, k.Events, k.Quarantined, k.Dead, k.Delayed, k.Epoch, k.Snapshot, k.Fired, k.Finished, k.WaitingFired, k.Reply, k.PausedSet, k.RecentTimers, k.Installation, k.Version)
	}
	keys := func() []string {
		masters, err := redisdb.Masters(ctx, s.b.Redis)
		if err != nil {
			s.t.Fatal(err)
		}
		var all []string
		for _, m := range masters {
			all = append(all, m.Keys(ctx, "*").Val()...)
		}
		return all
	}
	isStream := func(key string) bool { return slices.Contains(streams, key) || strings.Contains(key, ":task:") }
	s.eventually("streams and deadlines are empty", func() bool {
		var left int64
		for _, key := range keys() {
			if isStream(key) {
				left += s.b.Redis.XLen(ctx, key).Val()
			}
		}
		for _, p := range s.b.Partitions {
			left += s.b.Redis.ZCard(ctx, p.Keys.Deadlines).Val()
		}
		return left == 0
	})
	for _, key := range keys() {
		switch {
		case isStream(key), slices.Contains(others, key):
		case s.b.Redis.PTTL(ctx, key).Val() != -1: // it has a TTL, or was deleted meanwhile
		default:
			s.t.Errorf("%s is left in Redis without a TTL", key)
		}
	}
}

// TestWhatAPushMeans has a subtest for every row of the table in docs/reference/keys.md.
func TestWhatAPushMeans(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {grace: 2s, lease: 2s}")
	s.serve(s.config)
	set := func(s *stack, id string, status report.Status, attempt int) {
		s.exec("UPDATE file_download_record SET status = ?, attempt = ? WHERE id = ?", string(status), attempt, id)
	}
	event := func(s *stack, id, name, text string) {
		s.t.Helper()
		s.eventually(name+" event with "+text, func() bool {
			for _, m := range s.b.Redis.XRange(s.t.Context(), s.b.Partitions.First().Keys.Events, "-", "+").Val() {
				reason, _ := m.Values["reason"].(string)
				if m.Values["id"] == id && m.Values["event"] == name && strings.Contains(reason, text) {
					return true
				}
			}
			return false
		})
	}
	quarantine := func(s *stack, text string) {
		s.t.Helper()
		s.eventually("quarantine of "+text, func() bool {
			return strings.Contains(strings.Join(s.quarantined(), "\n"), text)
		})
	}

	t.Run("lines", func(t *testing.T) {
		sub := func(name string, f func(s *stack)) {
			t.Run(name, func(t *testing.T) { t.Parallel(); f(s.in(t)) })
		}
		sub("PENDING is started", func(s *stack) {
			if v := s.run("slow", ""); v.Status != report.Success || v.Attempt != 1 {
				s.t.Errorf("%+v", v)
			}
		})
		sub("PROCESSING with state is a duplicate", func(s *stack) {
			id := s.insert("slow", `{"seconds": 2}`)
			s.push(id)
			s.eventually("state", func() bool { return s.b.Redis.Exists(s.t.Context(), s.b.Partitions.First().Keys.Job(id)).Val() == 1 })
			s.push(id, id)
			event(s, id, "ignored", "duplicate: attempt 1 is running")
			if v := s.wait(id)[0]; v.Status != report.Success || v.Attempt != 1 {
				s.t.Errorf("%+v", v)
			}
		})
		sub("PROCESSING without state is started anew after the grace time", func(s *stack) {
			id := s.insert("slow", "")
			set(s, id, report.Processing, 4)
			start := time.Now()
			s.push(id)
			v := s.wait(id)[0]
			if v.Status != report.Success || v.Attempt != 5 {
				s.t.Errorf("%+v", v)
			}
			if waited := time.Since(start); waited < 1500*time.Millisecond {
				s.t.Errorf("started after %v: the grace time is 2 s", waited)
			}
		})
		for _, status := range []report.Status{report.Success, report.Failed, report.Cancelled} {
			sub(string(status)+" is left alone", func(s *stack) {
				id := s.insert("slow", "")
				set(s, id, status, 3)
				s.push(id)
				event(s, id, "ignored", "the record is "+string(status))
				if v, err := s.b.Inspect.Jobs.Get(s.t.Context(), id); err != nil || v.Status != status || v.Attempt != 3 {
					s.t.Errorf("%+v %v", v, err)
				}
			})
		}
		sub("a row that is committed late is found", func(s *stack) {
			s.push("777001")
			s.eventually("first look", func() bool { return s.b.Redis.ZCard(s.t.Context(), s.b.Partitions.First().Keys.Delayed).Val() > 0 })
			s.exec("INSERT INTO file_download_record (id, report, parameters) VALUES (777001, 'slow', '{}')")
			if v := s.wait("777001")[0]; v.Status != report.Success {
				s.t.Errorf("%+v", v)
			}
		})
		sub("no row at all is quarantined after three more looks", func(s *stack) {
			s.push("888001")
			quarantine(s, "no record with this id was found")
		})
		sub("not exactly the id is quarantined", func(s *stack) {
			id := s.insert("slow", "")
			s.push("0" + id)
			quarantine(s, `the record's id is "`+id+`"`)
			if v, err := s.b.Inspect.Jobs.Get(s.t.Context(), id); err != nil || v.Status != report.Pending {
				s.t.Errorf("%+v %v", v, err)
			}
		})
		sub("an unknown report is quarantined", func(s *stack) {
			id := s.insert("no-such-report", "")
			s.push(id)
			quarantine(s, `report "no-such-report" is not in the configuration`)
		})
		sub("malformed entries are quarantined", func(s *stack) {
			for _, values := range [][]string{
				{"id", "{1111}"}, {"id", strings.Repeat("1", 1<<20)}, {"id", ""}, {"ID", "1"}, {"payload", "{}", "x", "y"},
			} {
				if err := s.b.Redis.XAdd(s.t.Context(), &redis.XAddArgs{Stream: s.b.Partitions.First().Keys.Jobs, Values: values}).Err(); err != nil {
					s.t.Fatal(err)
				}
			}
			s.eventually("five in quarantine", func() bool {
				text := strings.Join(s.quarantined(), "\n")
				return strings.Count(text, "the id does not match") == 3 && strings.Count(text, "the field id is missing") == 2
			})
			for _, m := range s.b.Redis.XRange(s.t.Context(), s.b.Partitions.First().Keys.Quarantined, "-", "+").Val() {
				if n := len(m.Values["fields"].(string)); n > 1024 {
					s.t.Errorf("%d bytes of an entry are kept", n)
				}
			}
		})
		sub("bad parameters fail the record", func(s *stack) {
			v := s.run("slow", `{"seconds": "many"}`)
			if v.Status != report.Failed || !strings.Contains(v.Error, "seconds") || !strings.Contains(v.Error, "many") {
				s.t.Errorf("%+v", v)
			}
			event(s, v.ID, "finished", "seconds")
			if err := s.b.Redis.ZScore(t.Context(), s.b.Partitions.First().Keys.Dead, v.ID).Err(); err != nil {
				s.t.Errorf("not among the dead: %v", err)
			}
		})
	})
	s.idle()
}

// TestALockedRecordIsLookedAtSoon: an id whose record is locked is tried again soon, and not only
// after the lease of its worker.
func TestALockedRecordIsLookedAtSoon(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport)
	ids := []string{s.insert("slow", "{}"), s.insert("slow", "{}"), s.insert("slow", "{}"), s.insert("slow", "{}")}
	tx, err := s.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), "UPDATE file_download_record SET error = 'x' WHERE id = ?", ids[1]); err != nil {
		t.Fatal(err)
	}
	s.push(ids...)
	s.serve(s.config)
	succeeded := func(ids ...string) {
		t.Helper()
		for _, v := range s.wait(ids...) {
			if v.Status != report.Success {
				t.Errorf("record %s is %s", v.ID, v.Status)
			}
		}
	}
	succeeded(ids[0], ids[2], ids[3])
	delayed := job.Later{ID: ids[1], Attempt: 1, Step: job.StepTrigger}.String()
	s.eventually("the locked one waits among the delayed", func() bool {
		return s.b.Redis.ZScore(t.Context(), s.b.Partitions.First().Keys.Delayed, delayed).Err() == nil
	})
	if n := s.b.Redis.XLen(t.Context(), s.b.Partitions.First().Keys.Jobs).Val(); n != 0 {
		t.Errorf("%d pushed ids are left in the stream", n)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	succeeded(ids[1])
}

// TestAPushAfterAnEdit: a record that someone has set back to PENDING starts with a plain push,
// even while Redis still has the tombstone of its last job.
func TestAPushAfterAnEdit(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {grace: 1s}")
	s.serve(s.config)
	processing, pending := s.run("slow", "").ID, s.run("slow", "").ID
	s.exec("UPDATE file_download_record SET status = 'PROCESSING' WHERE id = ?", processing)
	s.exec("UPDATE file_download_record SET status = 'PENDING' WHERE id = ?", pending)
	s.push(processing, pending)
	for _, v := range s.wait(processing, pending) {
		if v.Status != report.Success || v.Attempt != 2 {
			t.Errorf("%+v", v)
		}
	}
	s.idle()
}
