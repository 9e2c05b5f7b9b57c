package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestWhatAPushMeans has a subtest for every row of the table in docs/reference/keys.md.
func TestWhatAPushMeans(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {recover_after: 2s, lease: 2s}")
	s.Serve(s.File)
	set := func(s *e2e.Stack, id string, status report.Status, attempt int) {
		s.Records.Exec("UPDATE file_download_record SET status = ?, attempt = ? WHERE id = ?", string(status), attempt, id)
	}
	event := func(s *e2e.Stack, id, name, text string) {
		s.Helper()
		s.Eventually(name+" event with "+text, func() bool {
			for _, m := range s.Redis.XRange(s.Context(), s.Partitions.First().Keys.Events, "-", "+").Val() {
				reason, _ := m.Values["reason"].(string)
				if m.Values["id"] == id && m.Values["event"] == name && strings.Contains(reason, text) {
					return true
				}
			}
			return false
		})
	}
	quarantine := func(s *e2e.Stack, text string) {
		s.Helper()
		s.Eventually("quarantine of "+text, func() bool {
			return strings.Contains(strings.Join(s.Jobs.Quarantined(), "\n"), text)
		})
	}

	t.Run("lines", func(t *testing.T) {
		sub := func(name string, f func(s *e2e.Stack)) {
			t.Run(name, func(t *testing.T) { t.Parallel(); f(s.In(t)) })
		}
		sub("PENDING is started", func(s *e2e.Stack) {
			if v := s.Jobs.Run("slow", ""); v.Status != report.Success || v.Attempt != 1 {
				s.Errorf("%+v", v)
			}
		})
		sub("PROCESSING with state is a duplicate", func(s *e2e.Stack) {
			id := s.Records.Insert("slow", `{"seconds": 2}`)
			s.Jobs.Push(id)
			s.Eventually("state", func() bool { return s.Redis.Exists(s.Context(), s.Partitions.First().Keys.Job(id)).Val() == 1 })
			s.Jobs.Push(id, id)
			event(s, id, "ignored", "duplicate: attempt 1 is running")
			if v := s.Jobs.Wait(id)[0]; v.Status != report.Success || v.Attempt != 1 {
				s.Errorf("%+v", v)
			}
		})
		sub("PROCESSING without state is started anew after the grace time", func(s *e2e.Stack) {
			id := s.Records.Insert("slow", "")
			set(s, id, report.Processing, 4)
			start := time.Now()
			s.Jobs.Push(id)
			v := s.Jobs.Wait(id)[0]
			if v.Status != report.Success || v.Attempt != 5 {
				s.Errorf("%+v", v)
			}
			if waited := time.Since(start); waited < 1500*time.Millisecond {
				s.Errorf("started after %v: the grace time is 2 s", waited)
			}
		})
		for _, status := range []report.Status{report.Success, report.Failed, report.Cancelled} {
			sub(string(status)+" is left alone", func(s *e2e.Stack) {
				id := s.Records.Insert("slow", "")
				set(s, id, status, 3)
				s.Jobs.Push(id)
				event(s, id, "ignored", "the record is "+string(status))
				if v, err := s.Inspect.Jobs.Get(s.Context(), id); err != nil || v.Status != status || v.Attempt != 3 {
					s.Errorf("%+v %v", v, err)
				}
			})
		}
		sub("a row that is committed late is found", func(s *e2e.Stack) {
			s.Jobs.Push("777001")
			s.Eventually("first look", func() bool { return s.Redis.ZCard(s.Context(), s.Partitions.First().Keys.Delayed).Val() > 0 })
			s.Records.Exec("INSERT INTO file_download_record (id, report, parameters) VALUES (777001, 'slow', '{}')")
			if v := s.Jobs.Wait("777001")[0]; v.Status != report.Success {
				s.Errorf("%+v", v)
			}
		})
		sub("no row at all is quarantined after three more looks", func(s *e2e.Stack) {
			s.Jobs.Push("888001")
			quarantine(s, "no record with this id was found")
		})
		sub("not exactly the id is quarantined", func(s *e2e.Stack) {
			id := s.Records.Insert("slow", "")
			s.Jobs.Push("0" + id)
			quarantine(s, `the record's id is "`+id+`"`)
			if v, err := s.Inspect.Jobs.Get(s.Context(), id); err != nil || v.Status != report.Pending {
				s.Errorf("%+v %v", v, err)
			}
		})
		sub("an unknown report is quarantined", func(s *e2e.Stack) {
			id := s.Records.Insert("no-such-report", "")
			s.Jobs.Push(id)
			quarantine(s, `report "no-such-report" is not in the configuration`)
		})
		sub("malformed entries are quarantined", func(s *e2e.Stack) {
			for _, values := range [][]string{
				{"id", "{1111}"}, {"id", strings.Repeat("1", 1<<20)}, {"id", ""}, {"ID", "1"}, {"payload", "{}", "x", "y"},
			} {
				if err := s.Redis.XAdd(s.Context(), &redis.XAddArgs{Stream: s.Partitions.First().Keys.Jobs, Values: values}).Err(); err != nil {
					s.Fatal(err)
				}
			}
			s.Eventually("five in quarantine", func() bool {
				text := strings.Join(s.Jobs.Quarantined(), "\n")
				return strings.Count(text, "the id does not match") == 3 && strings.Count(text, "the field id is missing") == 2
			})
			for _, m := range s.Redis.XRange(s.Context(), s.Partitions.First().Keys.Quarantined, "-", "+").Val() {
				if n := len(m.Values["fields"].(string)); n > 1024 {
					s.Errorf("%d bytes of an entry are kept", n)
				}
			}
		})
		sub("bad parameters fail the record", func(s *e2e.Stack) {
			v := s.Jobs.Run("slow", `{"seconds": "many"}`)
			if v.Status != report.Failed || !strings.Contains(v.Error, "seconds") || !strings.Contains(v.Error, "many") {
				s.Errorf("%+v", v)
			}
			event(s, v.ID, "finished", "seconds")
			if err := s.Redis.ZScore(t.Context(), s.Partitions.First().Keys.Dead, v.ID).Err(); err != nil {
				s.Errorf("not among the dead: %v", err)
			}
		})
	})
	s.Jobs.Idle()
}

// TestALockedRecordIsLookedAtSoon: an id whose record is locked is tried again soon, and not only
// after the lease of its worker.
func TestALockedRecordIsLookedAtSoon(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow)
	ids := []string{s.Records.Insert("slow", "{}"), s.Records.Insert("slow", "{}"), s.Records.Insert("slow", "{}"), s.Records.Insert("slow", "{}")}
	tx, err := s.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), "UPDATE file_download_record SET error = 'x' WHERE id = ?", ids[1]); err != nil {
		t.Fatal(err)
	}
	s.Jobs.Push(ids...)
	s.Serve(s.File)
	succeeded := func(ids ...string) {
		t.Helper()
		for _, v := range s.Jobs.Wait(ids...) {
			if v.Status != report.Success {
				t.Errorf("record %s is %s", v.ID, v.Status)
			}
		}
	}
	succeeded(ids[0], ids[2], ids[3])
	delayed := job.Later{ID: ids[1], Attempt: 1, Step: job.StepTrigger}.String()
	s.Eventually("the locked one waits among the delayed", func() bool {
		return s.Redis.ZScore(t.Context(), s.Partitions.First().Keys.Delayed, delayed).Err() == nil
	})
	if n := s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Jobs).Val(); n != 0 {
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
	s := e2e.New(t, e2e.Slow, "limits: {recover_after: 1s}")
	s.Serve(s.File)
	processing, pending := s.Jobs.Run("slow", "").ID, s.Jobs.Run("slow", "").ID
	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING' WHERE id = ?", processing)
	s.Records.Exec("UPDATE file_download_record SET status = 'PENDING' WHERE id = ?", pending)
	s.Jobs.Push(processing, pending)
	for _, v := range s.Jobs.Wait(processing, pending) {
		if v.Status != report.Success || v.Attempt != 2 {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
}
