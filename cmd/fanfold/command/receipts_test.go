package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// pushFor pushes ids for a service that requests receipts.
func (s *stack) pushFor(stream string, ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		if err := s.b.Redis.XAdd(s.t.Context(), &redis.XAddArgs{
			Stream: s.b.Partitions.Of(id).Keys.Jobs, Values: []string{"id", id, "reply_to", stream},
		}).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// receipts returns the receipts that a service has received.
func (s *stack) receipts(stream string) (all []map[string]any) {
	s.t.Helper()
	for _, e := range s.b.Redis.XRange(s.t.Context(), stream, "-", "+").Val() {
		all = append(all, e.Values)
	}
	return all
}

// receiptsOf waits for the final receipts of this number of pushes and until no more are pending,
// and returns all receipts.
func (s *stack) receiptsOf(stream string, finals int) []map[string]any {
	s.t.Helper()
	s.eventually(fmt.Sprint(finals, " final receipts in ", stream), func() bool {
		n := 0
		for _, r := range s.receipts(stream) {
			if r["event"] != "accepted" {
				n++
			}
		}
		return n >= finals
	})
	s.eventually("nothing is to be told any more", func() bool {
		var left int64
		for _, p := range s.b.Partitions {
			left += s.b.Redis.XLen(s.t.Context(), p.Keys.Finished).Val() + s.b.Redis.XLen(s.t.Context(), p.Keys.Jobs).Val()
		}
		return left == 0
	})
	return s.receipts(stream)
}

// TestReceipts: a service that names a stream receives accepted and one final receipt for every
// push.
func TestReceipts(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport+`
  fails:
    retry: 0
    stages: [{listeners: [{name: bad, database: db, query: "SELECT k FROM no_such_table"}]}]
`, "limits: {lease: 2s}")
	s.serve(s.config)
	keys := s.b.Partitions.First().Keys
	// both checks accepted and the final receipt of an attempt.
	both := func(s *stack, stream, id, name string, status report.Status) map[string]any {
		s.t.Helper()
		got := s.receiptsOf(stream, 1)
		if len(got) != 2 {
			s.t.Fatalf("%v", got)
		}
		if a := got[0]; a["event"] != "accepted" || a["id"] != id || a["attempt"] != "1" || a["report"] != name || len(fmt.Sprint(a["deadline"])) != 13 {
			s.t.Errorf("%v", a)
		}
		if f := got[1]; f["event"] != "finished" || f["id"] != id || f["attempt"] != "1" || f["report"] != name || f["status"] != string(status) {
			s.t.Errorf("%v", f)
		}
		return got[1]
	}
	t.Run("pushes", func(t *testing.T) {
		sub := func(name string, f func(s *stack, stream string)) {
			t.Run(name, func(t *testing.T) { t.Parallel(); f(s.in(t), "replies:"+strings.ReplaceAll(name, " ", "-")) })
		}
		sub("success", func(s *stack, stream string) {
			id := s.insert("slow", "")
			s.pushFor(stream, id)
			f := both(s, stream, id, "slow", report.Success)
			if f["file"] != "file://"+s.dir+"/files/"+s.fileName("slow", id, 1) || f["rows"] != "1" || f["reason"] != nil {
				s.t.Errorf("%v", f)
			}
			s.pushFor(stream, id)
			got := s.receiptsOf(stream, 2)
			if r := got[2]; len(got) != 3 || r["event"] != "refused" || r["status"] != "SUCCESS" || r["file"] != f["file"] || !strings.Contains(fmt.Sprint(r["reason"]), "the record is SUCCESS") {
				s.t.Errorf("pushed again: %v", got)
			}
		})
		sub("failed", func(s *stack, stream string) {
			id := s.insert("fails", "")
			s.pushFor(stream, id)
			if f := both(s, stream, id, "fails", report.Failed); f["file"] != nil || !strings.Contains(fmt.Sprint(f["reason"]), "no_such_table") {
				s.t.Errorf("%v", f)
			}
		})
		sub("cancelled", func(s *stack, stream string) {
			id := s.insert("slow", `{"seconds": 30}`)
			s.pushFor(stream, id)
			s.eventually("accepted", func() bool { return len(s.receipts(stream)) == 1 })
			if out, code := s.fanfold("cancel", id, "--reason", "not needed"); code != exitOK {
				s.t.Fatal(out)
			}
			if f := both(s, stream, id, "slow", report.Cancelled); f["reason"] != "not needed" {
				s.t.Errorf("%v", f)
			}
		})
		sub("a record that is committed later", func(s *stack, stream string) {
			id := s.insert("slow", "")
			s.exec("UPDATE file_download_record SET id = ? WHERE id = ?", "9"+id, id)
			s.pushFor(stream, id)
			s.eventually("its id waits", func() bool {
				return len(s.b.Redis.ZRangeByLex(s.t.Context(), keys.Delayed, &redis.ZRangeBy{Min: "[" + id + "/", Max: "[" + id + "/~"}).Val()) > 0 || s.b.Redis.HExists(s.t.Context(), keys.ReplyTo, id).Val()
			})
			s.exec("UPDATE file_download_record SET id = ? WHERE id = ?", id, "9"+id)
			both(s, stream, id, "slow", report.Success)
		})
		sub("two services and several pushes", func(s *stack, stream string) {
			id := s.insert("slow", `{"seconds": 1}`)
			s.pushFor(stream, id, id)
			s.eventually("accepted", func() bool { return len(s.receipts(stream)) == 1 })
			s.pushFor(stream, id)
			s.pushFor(stream+"-2", id) // while it runs
			both(s, stream, id, "slow", report.Success)
			both(s, stream+"-2", id, "slow", report.Success)
		})
		sub("parameters that the report does not take", func(s *stack, stream string) {
			id := s.insert("slow", `{"seconds": "never"}`)
			s.pushFor(stream, id)
			if got := s.receiptsOf(stream, 1); len(got) != 1 || got[0]["event"] != "finished" || got[0]["status"] != "FAILED" || got[0]["attempt"] != "0" || got[0]["reason"] == nil {
				s.t.Errorf("%v", got)
			}
		})
		sub("quarantined", func(s *stack, stream string) {
			id := s.insert("slow", "")
			s.exec("UPDATE file_download_record SET status = 'WAITING' WHERE id = ?", id)
			s.pushFor(stream, id)
			if got := s.receiptsOf(stream, 1); len(got) != 1 || got[0]["event"] != "refused" || got[0]["status"] != nil || !strings.Contains(fmt.Sprint(got[0]["reason"]), `unknown status "WAITING"`) {
				s.t.Errorf("%v", got)
			}
		})
		sub("deleted", func(s *stack, stream string) {
			id := s.insert("slow", `{"seconds": 1}`)
			s.pushFor(stream, id)
			s.eventually("accepted", func() bool { return len(s.receipts(stream)) == 1 })
			s.exec("DELETE FROM file_download_record WHERE id = ?", id)
			if got := s.receiptsOf(stream, 1); len(got) != 2 || got[1]["event"] != "finished" || got[1]["status"] != "DELETED" {
				s.t.Errorf("%v", got)
			}
		})
		sub("a stream that is none", func(s *stack, stream string) {
			s.b.Redis.Set(s.t.Context(), stream, "x", 0)
			id := s.insert("slow", "")
			s.pushFor(stream, id)
			s.wait(id)
			s.eventually("both receipts are quarantined", func() bool {
				return strings.Count(strings.Join(s.quarantined(), "\n"), "receipt of "+stream) == 2
			})
			s.b.Redis.Del(s.t.Context(), stream)
			if out, code := s.fanfold("quarantine", "requeue", "--match", "*receipt of "+stream+"*"); code != exitOK {
				s.t.Error(out)
			}
			both(s, stream, id, "slow", report.Success)
		})
		sub("a stream that is not for receipts", func(s *stack, stream string) {
			ctx, other := s.t.Context(), "orders:"+stream
			before := s.b.Redis.XAdd(ctx, &redis.XAddArgs{Stream: other, Values: []string{"order", "1"}}).Val()
			for i, name := range []string{keys.Events, other} {
				id := s.insert("slow", "")
				s.pushFor(name, id)
				const why = "Fanfold may not write"
				s.eventually("it is quarantined", func() bool {
					return strings.Count(strings.Join(s.quarantined(), "\n"), why+": the name must begin with replies: (keys.replies)") == i+1
				})
				if v, err := s.b.Inspect.Jobs.Get(ctx, id); err != nil || v.Status != report.Pending {
					s.t.Errorf("%+v %v", v, err)
				}
				if out, code := s.fanfold("quarantine", "requeue", "--match", "*"+why+"*"); code != exitOK || !strings.Contains(out, "its reply_to does not begin with replies:") {
					s.t.Errorf("%d %s", code, out)
				}
				s.push(id)
				s.wait(id)
			}
			if entries := s.b.Redis.XRange(ctx, other, "-", "+").Val(); len(entries) != 1 || entries[0].ID != before {
				s.t.Errorf("the stream of another service has %v", entries)
			}
		})
	})
	if n := s.b.Redis.HLen(t.Context(), keys.ReplyTo).Val(); n != 0 {
		t.Errorf("%d ids are noted", n)
	}
}
