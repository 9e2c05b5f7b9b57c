package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// TestReceipts: a service that names a stream receives accepted and one final receipt for every
// push.
func TestReceipts(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow+`
  fails:
    retry: 0
    listeners: {bad: {database: db, query: "SELECT k FROM no_such_table"}}
`, "limits: {lease: 2s}")
	s.Serve(s.File)
	keys := s.Partitions.First().Keys
	// both checks accepted and the final receipt of an attempt.
	both := func(s *stack, stream, id, name string, status report.Status) map[string]any {
		s.Helper()
		got := s.Receipts.Wait(stream, 1)
		if len(got) != 2 {
			s.Fatalf("%v", got)
		}
		if a := got[0]; a["event"] != "accepted" || a["id"] != id || a["attempt"] != "1" || a["report"] != name || len(fmt.Sprint(a["deadline"])) != 13 {
			s.Errorf("%v", a)
		}
		if f := got[1]; f["event"] != "finished" || f["id"] != id || f["attempt"] != "1" || f["report"] != name || f["status"] != string(status) {
			s.Errorf("%v", f)
		}
		return got[1]
	}
	t.Run("pushes", func(t *testing.T) {
		sub := func(name string, f func(s *stack, stream string)) {
			t.Run(name, func(t *testing.T) { t.Parallel(); f(s.in(t), "replies:"+strings.ReplaceAll(name, " ", "-")) })
		}
		sub("success", func(s *stack, stream string) {
			id := s.Records.Insert("slow", "")
			s.Receipts.Push(stream, id)
			f := both(s, stream, id, "slow", report.Success)
			if f["file"] != "file://"+s.Dir+"/files/"+s.Files.Named("slow", id, 1) || f["rows"] != "1" || f["reason"] != nil {
				s.Errorf("%v", f)
			}
			s.Receipts.Push(stream, id)
			got := s.Receipts.Wait(stream, 2)
			if r := got[2]; len(got) != 3 || r["event"] != "refused" || r["status"] != "SUCCESS" || r["file"] != f["file"] || !strings.Contains(fmt.Sprint(r["reason"]), "the record is SUCCESS") {
				s.Errorf("pushed again: %v", got)
			}
		})
		sub("failed", func(s *stack, stream string) {
			id := s.Records.Insert("fails", "")
			s.Receipts.Push(stream, id)
			if f := both(s, stream, id, "fails", report.Failed); f["file"] != nil || !strings.Contains(fmt.Sprint(f["reason"]), "no_such_table") {
				s.Errorf("%v", f)
			}
		})
		sub("cancelled", func(s *stack, stream string) {
			id := s.Records.Insert("slow", `{"seconds": 30}`)
			s.Receipts.Push(stream, id)
			s.Eventually("accepted", func() bool { return len(s.Receipts.Of(stream)) == 1 })
			if out, code := s.fanfold("cancel", id, "--reason", "not needed"); code != exitOK {
				s.Fatal(out)
			}
			if f := both(s, stream, id, "slow", report.Cancelled); f["reason"] != "not needed" {
				s.Errorf("%v", f)
			}
		})
		sub("a record that is committed later", func(s *stack, stream string) {
			id := s.Records.Insert("slow", "")
			s.Records.Exec("UPDATE file_download_record SET id = ? WHERE id = ?", "9"+id, id)
			s.Receipts.Push(stream, id)
			s.Eventually("its id waits", func() bool {
				return len(s.Redis.ZRangeByLex(s.Context(), keys.Delayed, &redis.ZRangeBy{Min: "[" + id + "/", Max: "[" + id + "/~"}).Val()) > 0 || s.Redis.HExists(s.Context(), keys.ReplyTo, id).Val()
			})
			s.Records.Exec("UPDATE file_download_record SET id = ? WHERE id = ?", id, "9"+id)
			both(s, stream, id, "slow", report.Success)
		})
		sub("two services and several pushes", func(s *stack, stream string) {
			id := s.Records.Insert("slow", `{"seconds": 1}`)
			s.Receipts.Push(stream, id, id)
			s.Eventually("accepted", func() bool { return len(s.Receipts.Of(stream)) == 1 })
			s.Receipts.Push(stream, id)
			s.Receipts.Push(stream+"-2", id) // while it runs
			both(s, stream, id, "slow", report.Success)
			both(s, stream+"-2", id, "slow", report.Success)
		})
		sub("parameters that the report does not take", func(s *stack, stream string) {
			id := s.Records.Insert("slow", `{"seconds": "never"}`)
			s.Receipts.Push(stream, id)
			if got := s.Receipts.Wait(stream, 1); len(got) != 1 || got[0]["event"] != "finished" || got[0]["status"] != "FAILED" || got[0]["attempt"] != "0" || got[0]["reason"] == nil {
				s.Errorf("%v", got)
			}
		})
		sub("quarantined", func(s *stack, stream string) {
			id := s.Records.Insert("slow", "")
			s.Records.Exec("UPDATE file_download_record SET status = 'WAITING' WHERE id = ?", id)
			s.Receipts.Push(stream, id)
			if got := s.Receipts.Wait(stream, 1); len(got) != 1 || got[0]["event"] != "refused" || got[0]["status"] != nil || !strings.Contains(fmt.Sprint(got[0]["reason"]), `unknown status "WAITING"`) {
				s.Errorf("%v", got)
			}
		})
		sub("deleted", func(s *stack, stream string) {
			id := s.Records.Insert("slow", `{"seconds": 1}`)
			s.Receipts.Push(stream, id)
			s.Eventually("accepted", func() bool { return len(s.Receipts.Of(stream)) == 1 })
			s.Records.Exec("DELETE FROM file_download_record WHERE id = ?", id)
			if got := s.Receipts.Wait(stream, 1); len(got) != 2 || got[1]["event"] != "finished" || got[1]["status"] != "DELETED" {
				s.Errorf("%v", got)
			}
		})
		sub("a stream that is none", func(s *stack, stream string) {
			s.Redis.Set(s.Context(), stream, "x", 0)
			id := s.Records.Insert("slow", "")
			s.Receipts.Push(stream, id)
			s.Jobs.Wait(id)
			s.Eventually("both receipts are quarantined", func() bool {
				return strings.Count(strings.Join(s.Jobs.Quarantined(), "\n"), "receipt of "+stream) == 2
			})
			s.Redis.Del(s.Context(), stream)
			if out, code := s.fanfold("quarantine", "requeue", "--match", "*receipt of "+stream+"*"); code != exitOK {
				s.Error(out)
			}
			both(s, stream, id, "slow", report.Success)
		})
		sub("a stream that is not for receipts", func(s *stack, stream string) {
			ctx, other := s.Context(), "orders:"+stream
			before := s.Redis.XAdd(ctx, &redis.XAddArgs{Stream: other, Values: []string{"order", "1"}}).Val()
			for i, name := range []string{keys.Events, other} {
				id := s.Records.Insert("slow", "")
				s.Receipts.Push(name, id)
				const why = "Fanfold may not write"
				s.Eventually("it is quarantined", func() bool {
					return strings.Count(strings.Join(s.Jobs.Quarantined(), "\n"), why+": the name must begin with replies: (redis_keys.replies)") == i+1
				})
				if v, err := s.Inspect.Jobs.Get(ctx, id); err != nil || v.Status != report.Pending {
					s.Errorf("%+v %v", v, err)
				}
				if out, code := s.fanfold("quarantine", "requeue", "--match", "*"+why+"*"); code != exitOK || !strings.Contains(out, "its reply_to does not begin with replies:") {
					s.Errorf("%d %s", code, out)
				}
				s.Jobs.Push(id)
				s.Jobs.Wait(id)
			}
			if entries := s.Redis.XRange(ctx, other, "-", "+").Val(); len(entries) != 1 || entries[0].ID != before {
				s.Errorf("the stream of another service has %v", entries)
			}
		})
	})
	if n := s.Redis.HLen(t.Context(), keys.ReplyTo).Val(); n != 0 {
		t.Errorf("%d ids are noted", n)
	}
}
