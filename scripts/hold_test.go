package scripts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/scripts/job"
)

// pausedJob is a job of the listeners a and b that has run for an hour and whose deadline is
// in that time, in a Redis where listener a has been paused for a while.
func pausedJob(t *testing.T, s *Scripts, client *redis.Client, waits bool, timeout, since time.Duration) (deadline time.Time) {
	t.Helper()
	start := attempt("1", timeout, "a,b")
	start.Waits = waits
	if got, err := s.Jobs.Start(t.Context(), "", start); err != nil || got[0] != OK {
		t.Fatal(got, err)
	}
	state, err := s.Jobs.Read(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, s, "1", func(words []string) { words[9] = fmt.Sprint(state.Started.Add(-time.Hour).UnixMilli()) })
	setPause(t, s, PausedListener("a"), since, 0)
	return state.Deadline
}

// setPause pauses a member since a time ago, and until a time ago (below 0: ahead); 0: without an end.
func setPause(t *testing.T, s *Scripts, member string, since, ended time.Duration) {
	t.Helper()
	until := int64(0)
	if ended != 0 {
		until = time.Now().Add(-ended).UnixMilli()
	}
	text := fmt.Sprintf(`{"since": %d, "until": %d, "who": "ann", "reason": "busy"}`, time.Now().Add(-since).UnixMilli(), until)
	if err := s.rdb.HSet(t.Context(), s.Keys.Holds, member, text).Err(); err != nil {
		t.Fatal(err)
	}
}

// rewrite changes words of a job's line; see lua/job.lua.
func rewrite(t *testing.T, s *Scripts, id string, change func(words []string)) {
	t.Helper()
	line, err := s.rdb.HGet(t.Context(), s.Keys.Job(id), "job").Result()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(line, " ")
	change(words)
	if err := s.rdb.HSet(t.Context(), s.Keys.Job(id), "job", strings.Join(words, " ")).Err(); err != nil {
		t.Fatal(err)
	}
}

// TestADeadlineWaits: one that passes during a pause moves by the pause, and nothing is
// moved twice; after it the job has the time that it had left when the pause began.
func TestADeadlineWaits(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	// It passed a minute ago; the pause began 10 minutes ago.
	before := pausedJob(t, s, client, true, -time.Minute, 10*time.Minute)
	if got, _, err := s.Jobs.Expire(ctx, "1"); got != Busy || err != nil {
		t.Fatal(got, err)
	}
	state, err := s.Jobs.Read(ctx, "1")
	if err != nil {
		t.Fatal(err)
	}
	moved := state.Deadline.Sub(before)
	if state.Status != job.StatusRun || moved < 10*time.Minute || moved > 11*time.Minute {
		t.Errorf("%s, moved by %s", state.Status, moved)
	}
	if at := deadlineOf(t, s, "1"); at != state.Deadline.UnixMilli() {
		t.Errorf("the score is %d, the deadline %d", at, state.Deadline.UnixMilli())
	}
	if at := wakesAt(t, s); at != state.Deadline.UnixMilli() {
		t.Errorf("the wake key ends at %d, the deadline is %d", at, state.Deadline.UnixMilli())
	}
	if was, _, err := (Partitions{s}).Unhold(ctx, PausedListener("a"), false); !was || err != nil {
		t.Fatal(was, err)
	}
	again, err := s.Jobs.Read(ctx, "1")
	if err != nil || again.Deadline.Sub(state.Deadline) > time.Minute {
		t.Errorf("moved again by %s %v", again.Deadline.Sub(state.Deadline), err)
	}
	if was, _, err := (Partitions{s}).Unhold(ctx, PausedListener("a"), false); was || err != nil {
		t.Errorf("resumed twice: %v %v", was, err)
	}
	// From now on it fails as others.
	rewrite(t, s, "1", func(words []string) { words[4] = fmt.Sprint(time.Now().Add(-time.Second).UnixMilli()) })
	if got, _, err := s.Jobs.Expire(ctx, "1"); got != OK || err != nil {
		t.Error(got, err)
	}
}

// TestADeadlineThatDoesNotWait: without the setting, before the pause, for a listener
// that is done, and in a stage that has only begun.
func TestADeadlineThatDoesNotWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits bool
		since time.Duration
		field string // of the hash, which is set to now
		open  string // listeners; empty: as they are
		want  Outcome
	}{
		"it waits":                     {waits: true, since: 10 * time.Minute, want: Busy},
		"without the setting":          {since: 10 * time.Minute, want: OK},
		"it passed before the pause":   {waits: true, since: 30 * time.Second, want: OK},
		"the listener is done":         {waits: true, since: 10 * time.Minute, open: "|b|", want: OK},
		"the stage began after it":     {waits: true, since: 10 * time.Minute, field: "began", want: OK},
		"it was moved for another one": {waits: true, since: 10 * time.Minute, field: "extended", want: OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := newScripts(t)
			pausedJob(t, s, client, c.waits, -time.Minute, c.since)
			if c.field != "" {
				client.HSet(t.Context(), s.Keys.Job("1"), c.field, time.Now().UnixMilli())
			}
			if c.open != "" {
				rewrite(t, s, "1", func(words []string) { words[7] = c.open })
			}
			if got, _, err := s.Jobs.Expire(t.Context(), "1"); got != c.want || err != nil {
				t.Error(got, err)
			}
			reason := ""
			if c.want == OK {
				reason = "deadline passed in stage 1, waiting for a (paused), b"
			}
			if c.open != "" {
				reason = "deadline passed in stage 1, waiting for b"
			}
			if state, err := s.Jobs.Read(t.Context(), "1"); err != nil || state.Reason != reason {
				t.Error(state.Reason, err)
			}
		})
	}
}

// TestParked: ids that wait for a report are pushed in their order when it is resumed,
// and one that comes after that at once.
func TestParked(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	since, err := (Partitions{s}).Hold(ctx, PausedReport("r"), Hold{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := (Partitions{s}).Hold(ctx, PausedReport("r"), Hold{}); err != nil || !again.Equal(since) {
		t.Errorf("paused since %v, and then since %v %v", since, again, err)
	}
	if paused, err := s.Gate.IsPaused(ctx, PausedReport("r")); !paused || err != nil {
		t.Error(paused, err)
	}
	for _, id := range []string{"2", "1", "3"} {
		if err := s.Gate.Park(ctx, "r", id); err != nil {
			t.Fatal(err)
		}
		client.ZAdd(ctx, s.Keys.Waiting("r"), redis.Z{Member: id, Score: map[string]float64{"2": 1, "1": 2, "3": 3}[id]})
	}
	if n := client.XLen(ctx, s.Keys.Jobs).Val(); n != 0 {
		t.Errorf("%d are pushed", n)
	}
	was, n, err := (Partitions{s}).Unhold(ctx, PausedReport("r"), false)
	if !was || n != 3 || err != nil {
		t.Error(was, n, err)
	}
	if err := s.Gate.Park(ctx, "r", "4"); err != nil {
		t.Fatal(err)
	}
	if paused, err := s.Gate.IsPaused(ctx, PausedReport("r")); paused || err != nil {
		t.Error("what was known is not asked for again", paused, err)
	}
	var ids []any
	for _, e := range client.XRange(ctx, s.Keys.Jobs, "-", "+").Val() {
		ids = append(ids, e.Values["id"])
	}
	if fmt.Sprint(ids) != "[2 1 3 4]" || client.Exists(ctx, s.Keys.Waiting("r")).Val() != 0 {
		t.Errorf("pushed: %v", ids)
	}
}

// TestPausesWhileAPartitionIsAway reach the others, and name the one that they do not reach.
func TestPausesWhileAPartitionIsAway(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	away, err := testenv.StartRedis(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(away.Stop)
	_, there := newScripts(t)
	client := away.Client()
	t.Cleanup(func() { _ = client.Close() })
	p := Partitions{New(Options{Redis: client}), New(Options{Redis: there})}
	paused := func(s *Scripts, member string, want bool) {
		t.Helper()
		if is, err := s.rdb.HExists(ctx, s.Keys.Holds, member).Result(); is != want {
			t.Errorf("%s: %v", member, err)
		}
	}
	members := []string{PausedListener("a"), PausedReport("r")}
	away.Stop()
	for _, member := range members {
		if since, err := p.Hold(ctx, member, Hold{}); err == nil || !strings.HasPrefix(err.Error(), "partition 0: ") || since.IsZero() {
			t.Errorf("%v %v", since, err)
		}
		paused(p[1], member, true)
	}
	if err := away.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for _, member := range members {
		if since, err := p.Hold(ctx, member, Hold{}); err != nil || since.IsZero() {
			t.Errorf("%v %v", since, err)
		}
		paused(p[0], member, true)
	}
	away.Stop()
	if was, _, err := p.Unhold(ctx, PausedListener("a"), false); !was || err == nil {
		t.Errorf("%v %v", was, err)
	}
	if was, _, err := p.Unhold(ctx, PausedReport("r"), false); !was || err == nil {
		t.Errorf("%v %v", was, err)
	}
	if err := away.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for _, member := range members {
		paused(p[1], member, false)
		paused(p[0], member, true)
	}
	if found, err := p.Holds(ctx); err != nil || len(found) != 2 {
		t.Errorf("%v %v", found, err)
	}
}

// TestPausesEnd at their time: then they count as none, the jobs that waited have more time, the ids of reports are
// pushed, and a pause that was replaced meanwhile stays.
func TestPausesEnd(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	s.sources = map[string][]string{"a": {"db", "db2"}}
	ctx := t.Context()
	before := pausedJob(t, s, client, true, -time.Minute, 0)
	if _, _, err := (Partitions{s}).Unhold(ctx, PausedListener("a"), false); err != nil {
		t.Fatal(err)
	}
	setPause(t, s, PausedSource("db"), 10*time.Minute, time.Minute)
	for report, ended := range map[string]time.Duration{"r": time.Minute, "limited": time.Minute, "again": -time.Hour} {
		if err := s.Gate.Park(ctx, report, report+"1"); err != nil {
			t.Fatal(err)
		}
		client.ZAdd(ctx, s.Keys.Waiting(report), redis.Z{Member: report + "2", Score: 1})
		until := time.Now().Add(-ended)
		setPause(t, s, PausedReport(report), time.Hour, ended)
		if of, err := s.Gate.Holds(ctx); err != nil || of[PausedReport(report)].Until.IsZero() != (ended > 0) {
			t.Errorf("%s until %v: %v %v", report, until, of, err)
		}
	}
	client.Del(ctx, s.Keys.Jobs)
	if err := s.Gate.Park(ctx, "r", "3"); err != nil || client.XLen(ctx, s.Keys.Jobs).Val() != 1 {
		t.Error("an id waits for a pause that is over", err)
	}
	if got, _, err := s.Jobs.Expire(ctx, "1"); got != Busy || err != nil {
		t.Errorf("the job is not given the time of the pause: %v %v", got, err)
	}
	if _, _, err := s.Gate.unhold(ctx, PausedReport("again"), true, true); err != nil {
		t.Fatal(err)
	}
	if err := s.Gate.EndHolds(ctx, func(report string) bool { return report == "limited" }); err != nil {
		t.Fatal(err)
	}
	state, err := s.Jobs.Read(ctx, "1")
	if moved := state.Deadline.Sub(before); err != nil || moved < 10*time.Minute || moved > 11*time.Minute {
		t.Errorf("moved by %s %v", moved, err)
	}
	if left := client.HKeys(ctx, s.Keys.Holds).Val(); fmt.Sprint(left) != "[report/again]" {
		t.Error(left)
	}
	for report, want := range map[string]int64{"r": 0, "limited": 1, "again": 1} {
		if n := client.ZCard(ctx, s.Keys.Waiting(report)).Val(); n != want {
			t.Errorf("%d ids wait for %s", n, report)
		}
	}
}

// TestStops: a listener stops with its pause, or if all of its sources are paused.
func TestStops(t *testing.T) {
	t.Parallel()
	p := Holds{PausedSource("db"): {Since: time.UnixMilli(2)}, PausedListener("b"): {Since: time.UnixMilli(1)}}
	for want, got := range map[string]string{
		"source/db": p.Stops("a", "db"), "listener/b": p.Stops("b", "other"), " ": p.Stops("a", "db", "other") + " ",
		"": p.Stops("a"),
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if at := p.since("b", []string{"db"}); at != time.UnixMilli(1) {
		t.Error(at)
	}
}

// TestALimit holds instead of that of the configuration until its end, or until it is removed, and is no pause.
func TestALimit(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx, source, report, all := t.Context(), PausedSource("db"), PausedReport("r"), Partitions{s}
	for what, n := range map[string]int{source: 2, report: 3} {
		if _, err := all.Hold(ctx, LimitOf(what), Hold{Limit: n, Who: "ann", Reason: "busy"}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := all.Holds(ctx)
	if err != nil || found.Limit(source, 7) != 2 || found.Limit(report, 0) != 3 || found.Limit(PausedSource("other"), 7) != 7 {
		t.Errorf("%+v %v", found, err)
	}
	if len(found.Pauses()) != 0 || found.Stops("a", "db") != "" || found.Limits()[source].Reason != "busy" {
		t.Errorf("%+v", found)
	}
	// An id that has no slot waits while the limit holds.
	if err := s.Gate.Queue(ctx, "r", "1", 0); err != nil || client.XLen(ctx, s.Keys.Jobs).Val() != 0 {
		t.Error(err, "it was pushed")
	}
	until := Hold{Limit: 3, Until: time.Now().Add(-time.Second)}
	if _, err := all.Hold(ctx, LimitOf(report), until); err != nil {
		t.Fatal(err)
	}
	if found, err := all.Holds(ctx); err != nil || found.Limit(report, 0) != 0 {
		t.Errorf("it holds after its end: %+v %v", found, err)
	}
	if err := s.Gate.EndHolds(ctx, func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if left := client.HKeys(ctx, s.Keys.Holds).Val(); !slices.Equal(left, []string{LimitOf(source)}) {
		t.Errorf("%v are left", left)
	}
	if n := client.XLen(ctx, s.Keys.Jobs).Val(); n != 1 {
		t.Errorf("%d ids were pushed at the end of the limit", n)
	}
	// The id of a process that did not know that yet.
	if err := s.Gate.Queue(ctx, "r", "2", 0); err != nil || client.XLen(ctx, s.Keys.Jobs).Val() != 2 {
		t.Error(err, "it was not pushed")
	}
	if ids, err := s.Gate.Waiting(ctx, "r", 5); err != nil || len(ids) != 0 {
		t.Errorf("%v wait: %v", ids, err)
	}
	if was, _, err := all.Unhold(ctx, LimitOf(source), false); !was || err != nil || client.Exists(ctx, s.Keys.Holds).Val() != 0 {
		t.Error(was, err)
	}
}

// TestTwoHolds: the ids of a report that is paused and limited wait until both have ended.
func TestTwoHolds(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx, all, members := t.Context(), Partitions{s}, []string{PausedReport("r"), LimitOf(PausedReport("r"))}
	for i := range 4 {
		first, second, late := members[i%2], members[1-i%2], i > 1
		for _, member := range members {
			if _, err := all.Hold(ctx, member, Hold{Limit: 3}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Gate.Queue(ctx, "r", fmt.Sprint(i), 0); err != nil {
			t.Fatal(err)
		}
		for n, member := range []string{first, second} {
			if late {
				if _, err := all.Hold(ctx, member, Hold{Until: time.Now().Add(-time.Second)}); err != nil {
					t.Fatal(err)
				}
				if err := s.Gate.EndHolds(ctx, func(string) bool { return false }); err != nil {
					t.Fatal(err)
				}
			} else if was, released, err := all.Unhold(ctx, member, false); !was || released != n || err != nil {
				t.Errorf("the end of %s: %v %d %v", member, was, released, err)
			}
			if pushed := client.XLen(ctx, s.Keys.Jobs).Val(); pushed != int64(n) {
				t.Errorf("%d ids were pushed at the end of %s", pushed, member)
			}
		}
		client.Del(ctx, s.Keys.Jobs)
	}
}

// TestTwoHoldsEndTogether: who ends a hold while another one ends pushes the ids, or the other does.
func TestTwoHoldsEndTogether(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx, all, members := t.Context(), Partitions{s}, []string{PausedReport("r"), LimitOf(PausedReport("r"))}
	for range 100 {
		for _, member := range members {
			if _, err := all.Hold(ctx, member, Hold{Limit: 3}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Gate.Queue(ctx, "r", "1", 0); err != nil {
			t.Fatal(err)
		}
		var group errgroup.Group
		for _, member := range members {
			group.Go(func() error {
				_, _, err := all.Unhold(ctx, member, false)
				return err
			})
		}
		if err := group.Wait(); err != nil || client.XLen(ctx, s.Keys.Jobs).Val() != 1 {
			t.Fatalf("%d ids were pushed, %v", client.XLen(ctx, s.Keys.Jobs).Val(), err)
		}
		client.Del(ctx, s.Keys.Jobs)
	}
}
