package command

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
)

// quarantine puts an entry of a stream into the quarantine of a partition and returns its name.
func (s *stack) quarantine(partition int, stream, reason string, fields map[string]string) string {
	s.Helper()
	if err := s.Partitions[partition].Streams.Quarantine(s.Context(), stream, "1-1", fields, reason); err != nil {
		s.Fatal(err)
	}
	var found []inspect.Quarantined
	out, _ := s.fanfold("quarantine", "ls", "-o", "json", "--match", reason)
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) != 1 {
		s.Fatalf("%v %s", err, out)
	}
	return found[0].Entry
}

// refuses checks that requeue refuses an entry, and that the entry stays in the quarantine.
func (s *stack) refuses(entry, why string) {
	s.Helper()
	if out, code := s.fanfold("quarantine", "requeue", entry); code != exitFailure || !strings.Contains(out, why) {
		s.Errorf("%d, not with %q: %s", code, why, out)
	}
	s.must("quarantine show "+entry, entry)
}

// TestQuarantineRequeue requeues every kind of entry after the cause is fixed.
func TestQuarantineRequeue(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, `timers: {beep: {key: "beep-{x}", append: {stream: messages, fields: {x: "{x}"}}}}`)
	k := s.Partitions.First().Keys
	ctx := t.Context()

	early := s.quarantine(0, k.Jobs, "a push", map[string]string{"id": "1", "polls": "3", "note": `a "b" =`})
	s.refuses(early, "there is no record with exactly this id")
	s.must("quarantine show "+early, "fanfold why 1")
	id := s.Records.Insert("slow", `{"seconds": 0}`)
	if id != "1" {
		t.Fatal(id)
	}
	s.must("quarantine requeue "+early, "is in "+k.Jobs+" again")
	pushed := s.Redis.XRange(ctx, k.Jobs, "-", "+").Val()
	if len(pushed) != 1 || pushed[0].Values["note"] != `a "b" =` || pushed[0].Values["polls"] != nil {
		t.Errorf("%v", pushed)
	}
	if out, code := s.fanfold("quarantine", "requeue", early); code != exitNotFound {
		t.Errorf("%d %s", code, out)
	}

	s.refuses(s.quarantine(0, k.Fired, "a firing of none", map[string]string{"name": "boop-1", "due": "1"}), "no definition in timers")
	s.Redis.Set(ctx, k.Job("2"), "x", 0)
	s.refuses(s.quarantine(0, k.FanIn, "no state", map[string]string{"id": "2", "attempt": "1"}), "is a string and not a hash")

	delayed := s.quarantine(0, k.Delayed, "no time", map[string]string{"member": "1/1/one"})
	s.must("quarantine show "+delayed, "--at TIME")
	s.must("quarantine requeue --in 1h "+delayed, k.Delayed)
	s.must("delay ls", "1/1/one")
	s.refuses(s.quarantine(0, k.Delayed, "the same again", map[string]string{"member": "1/1/one"}), "is in "+k.Delayed+" already")
	s.must("quarantine requeue --at 2034-01-31T09:00:00+01:00 "+s.quarantine(0, k.Timers, "no score", map[string]string{"name": "beep-1", "due": "none"}), k.Timers)
	s.must("timer ls", words.Stamp(time.Date(2034, 1, 31, 8, 0, 0, 0, time.UTC)))

	s.quarantine(0, k.Fired, "a firing", map[string]string{"name": "beep-2", "due": "1", "late": "0", "try": "7"})
	s.quarantine(0, k.Fired, "another firing", map[string]string{"name": "beep-3", "due": "1", "late": "0"})
	s.must("quarantine requeue --match *firing -o json", k.Fired)
	left := s.Jobs.Quarantined()
	s.must("quarantine requeue --all", "not requeued: ")
	if got := s.Jobs.Quarantined(); !slices.Equal(left, got) || len(got) != 3 {
		t.Errorf("%d are left: %q", len(got), got)
	}
	for _, args := range []string{"", "--all --match x", "--all " + early, "x"} {
		if out, code := s.fanfold(append([]string{"quarantine", "requeue"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("%s: %d %s", args, code, out)
		}
	}
	s.Redis.Del(ctx, k.Job("2"), k.Delayed)
	s.Serve(s.File)
	s.Jobs.Wait(id)
	s.Eventually("both timers have fired", func() bool { return s.Redis.XLen(ctx, "messages").Val() == 2 })
}

// TestQuarantineSaysHowMany: a list that is cut says how many entries exist, and how to see them.
func TestQuarantineSaysHowMany(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	for i := range 55 {
		reason := []string{"odd", "even"}[i%2]
		if err := s.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: s.Partitions.First().Keys.Quarantined, Values: []string{"stream", "x", "reason", reason, "fields", "id=1"}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for want, args := range map[string][]string{"50 of 55 entries; --limit 55 shows all\n": nil, "9 of 28 entries; --limit 28 shows all\n": {"--match", "odd", "--limit", "9"}} {
		if out, code := s.fanfold(append([]string{"quarantine", "ls"}, args...)...); code != exitOK || !strings.HasSuffix(out, want) {
			t.Errorf("%v: %d %s", args, code, out)
		}
	}
	if out, code := s.fanfold("quarantine", "ls", "--limit", "55"); code != exitOK || strings.Contains(out, "shows all") {
		t.Errorf("%d %s", code, out)
	}
}

// TestQuarantineRequeueOfPartitions: on a cluster, an entry in the quarantine of any partition is
// requeued into its own partition.
func TestQuarantineRequeueOfPartitions(t *testing.T) {
	t.Parallel()
	s, _ := newStackOnCluster(t, 3, e2e.Crowd)
	ids := s.crowd.insert(6)
	for i, id := range ids {
		stream := []string{"fanfold:jobs", "{fanfold:7}:jobs", s.Partitions[i%3].Keys.Jobs}[i%3]
		entry := s.quarantine(i%3, stream, "crowd "+id, map[string]string{"id": id})
		if !strings.HasPrefix(entry, string(rune('0'+i%3))+":") {
			t.Errorf("%s in partition %d", entry, i%3)
		}
		if i%2 == 0 {
			s.must("quarantine show "+entry, "puts it back")
			s.must("quarantine requeue "+entry, s.Partitions.Of(id).Keys.Jobs)
		}
	}
	s.must("quarantine requeue --all", "is in ")
	for _, p := range s.Partitions {
		if n := s.Redis.XLen(t.Context(), p.Keys.Quarantined).Val(); n != 0 {
			t.Errorf("%d are left in %s", n, p.Keys.Quarantined)
		}
		for _, e := range s.Redis.XRange(t.Context(), p.Keys.Jobs, "-", "+").Val() {
			if id := e.Values["id"].(string); s.Partitions.Of(id) != p {
				t.Errorf("%s is in %s", id, p.Keys.Jobs)
			}
		}
	}
	s.Serve(s.File)
	s.Jobs.Wait(ids...)
}
