package scripts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// newLanes returns scripts with lanes, and a client.
func newLanes(t testing.TB, of report.Lanes) (*Scripts, *redis.Client) {
	t.Helper()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	return New(Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}, Lanes: &of}), client
}

// seekers are ids of a lane, such as a1, a2 …, in their order.
func seekers(lane string, from, to int, r *report.Report) (all []Seeker) {
	for i := from; i <= to; i++ {
		all = append(all, Seeker{ID: fmt.Sprintf("%s%d", lane, i), Lane: lane,
			Age: time.Hour - time.Duration(i)*time.Second, Report: r})
	}
	return all
}

// next returns the ids that have had their turn, and forgets them.
func next(t testing.TB, s *Scripts, client *redis.Client) (ids []string) {
	t.Helper()
	for _, e := range client.XRange(t.Context(), s.Keys.Next, "-", "+").Val() {
		ids = append(ids, e.Values["id"].(string))
	}
	client.XTrimMaxLen(t.Context(), s.Keys.Next, 0)
	return ids
}

func admitted(t testing.TB, s *Scripts, all ...Seeker) (n int) {
	t.Helper()
	a, err := s.Lanes.Admit(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, ok := range a.Admitted {
		if ok {
			n++
		}
	}
	return n
}

func leave(t testing.TB, s *Scripts, ids ...string) {
	t.Helper()
	if err := s.Lanes.Leave(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
}

// TestLanesTakeTurns: the first id of another lane is the next one, and then lanes take turns by their weights.
func TestLanesTakeTurns(t *testing.T) {
	t.Parallel()
	s, client := newLanes(t, report.Lanes{RunningJobs: 2, Weights: []report.LaneWeight{{Lane: "c", Weight: 3}}})
	if n := admitted(t, s, seekers("a", 1, 500, nil)...); n != 2 {
		t.Fatalf("%d were admitted", n)
	}
	if n := admitted(t, s, seekers("a", 1, 3, nil)...); n != 2 {
		t.Fatalf("%d of those with slots were admitted again", n)
	}
	if n := admitted(t, s, seekers("b", 1, 10, nil)...); n != 0 {
		t.Fatal("too many run")
	}
	leave(t, s, "a1")
	leave(t, s, "a1", "a2")
	if ids := next(t, s, client); !slices.Equal(ids, []string{"b1", "a3"}) {
		t.Errorf("%v have had their turns", ids)
	}
	admitted(t, s, seekers("c", 1, 100, nil)...)
	var turns []string
	last := []string{"b1", "a3"}
	for range 10 {
		leave(t, s, last[0])
		ids := next(t, s, client)
		if len(ids) != 1 {
			t.Fatal(ids)
		}
		last = append(last[1:], ids[0])
		turns = append(turns, ids[0][:1])
	}
	count := map[string]int{}
	for _, lane := range turns {
		count[lane]++
	}
	if !slices.Contains(turns[:2], "c") || count["c"] < 6 || count["a"] < 1 || count["b"] < 1 {
		t.Errorf("%v have had their turns", turns)
	}
	p, err := s.Lanes.Place(t.Context(), "a500")
	if err != nil || p == nil || p.Queue != p.Before+1 || p.All != 2 {
		t.Errorf("%+v %v", p, err)
	}
}

// TestLanesSaveNoTurns: a lane that comes late, or again and again with one id, has its share and not more.
func TestLanesSaveNoTurns(t *testing.T) {
	t.Parallel()
	for _, running := range []int{0, 1, 2} {
		t.Run(fmt.Sprint("running ", running), func(t *testing.T) {
			saveNoTurns(t, report.Lanes{RunningJobs: 1, Running: running})
		})
	}
}

func saveNoTurns(t *testing.T, of report.Lanes) {
	s, client := newLanes(t, of)
	admitted(t, s, seekers("a", 1, 200, nil)...)
	running := "a1"
	turn := func() string {
		t.Helper()
		leave(t, s, running)
		ids := next(t, s, client)
		if len(ids) != 1 {
			t.Fatalf("%v have had a turn", ids)
		}
		running = ids[0]
		return running[:1]
	}
	for range 50 {
		turn()
	}
	admitted(t, s, seekers("b", 1, 100, nil)...)
	count := map[string]int{}
	for range 40 {
		count[turn()]++
	}
	if count["a"] < 19 || count["b"] < 19 {
		t.Errorf("of two lanes with ids, one came later: %v", count)
	}
	clear(count)
	for i := range 30 {
		count[turn()]++                            // no job of the lane runs
		admitted(t, s, seekers("0", i, i, nil)...) // its name is before those of the others
		for lane := ""; lane != "0"; {
			lane = turn()
			count[lane]++
		}
	}
	if count["a"] < 25 || count["b"] < 25 {
		t.Errorf("a lane came again and again with one id: %v", count)
	}
}

// TestATurnThatFails: if the stream of turns takes no more entries, those that it has taken have their turns, and the
// others still wait.
func TestATurnThatFails(t *testing.T) {
	t.Parallel()
	s, client := newLanes(t, report.Lanes{RunningJobs: 2})
	admitted(t, s, seekers("a", 1, 4, nil)...)
	client.XAdd(t.Context(), &redis.XAddArgs{Stream: s.Keys.Next, ID: "1-1", Values: []string{"id", "0"}})
	next(t, s, client)
	if err := client.Do(t.Context(), "XSETID", s.Keys.Next, "18446744073709551615-18446744073709551614").Err(); err != nil {
		t.Fatal(err) // from here on, there is one id
	}
	if err := s.Lanes.Leave(t.Context(), "a1", "a2"); err == nil {
		t.Fatal("both have their turns")
	}
	found, err := s.Lanes.Entries(t.Context(), "a1", "a2", "a3", "a4")
	if ids := next(t, s, client); err != nil || !slices.Equal(ids, []string{"a3"}) || len(found) != 2 || found["a3"].Waits ||
		!found["a4"].Waits {
		t.Fatal(ids, found, err)
	}
	client.Del(t.Context(), s.Keys.Next)
	leave(t, s, "a3")
	if ids := next(t, s, client); !slices.Equal(ids, []string{"a4"}) {
		t.Errorf("%v have had their turns", ids)
	}
}

// TestLanesAreFair: behind 10,000 ids of one lane, the first job of another lane is the next one that starts.
func TestLanesAreFair(t *testing.T) {
	t.Parallel()
	for _, limits := range []report.Lanes{
		{RunningJobs: 10},
		{RunningJobs: 10, Running: 10},
		{RunningJobs: 1000, Classes: []report.Class{{Name: "bulk", Running: 10, Weight: 1}}},
	} {
		s, client := newLanes(t, limits)
		r := &report.Report{Class: "bulk"}
		admitted(t, s, seekers("acme", 1, 10_000, r)...)
		for i := 1; i <= 3; i++ {
			leave(t, s, fmt.Sprintf("acme%d", i))
		}
		next(t, s, client)
		for _, lane := range []string{"before", "other"} { // names before and after the one of the long queue
			if n := admitted(t, s, seekers(lane, 1, 1, r)...); n != 0 {
				t.Fatalf("%d were admitted", n)
			}
			leave(t, s, fmt.Sprintf("acme%d", len(lane)))
			if ids := next(t, s, client); !slices.Equal(ids, []string{lane + "1"}) {
				t.Errorf("%+v: %v started before the first job of %s", limits, ids, lane)
			}
		}
	}
}

// TestLanesOfManyTenants: lanes that are full cost the others nothing, however many there are.
func TestLanesOfManyTenants(t *testing.T) {
	t.Parallel()
	s, client := newLanes(t, report.Lanes{RunningJobs: 100_000, Running: 1})
	const lanes = 3000
	var all []Seeker
	for i := range lanes {
		all = append(all, seekers(fmt.Sprintf("t%d.", i), 1, 2, nil)...)
	}
	if n := admitted(t, s, all...); n != lanes {
		t.Fatalf("%d were admitted", n)
	}
	if n := client.ZCard(t.Context(), s.Keys.ClassTurns(report.NoLane)).Val(); n != 0 {
		t.Errorf("%d lanes are in the rotation, and all are full", n)
	}
	leave(t, s, "t7.1", "t2999.1")
	ids := next(t, s, client)
	if slices.Sort(ids); !slices.Equal(ids, []string{"t2999.2", "t7.2"}) {
		t.Errorf("%v have had their turns", ids)
	}
	queues, err := s.Lanes.Queues(t.Context(), 5)
	if err != nil || len(queues) != 5 {
		t.Errorf("%+v %v", queues, err)
	}
}

// TestNewestOnly: of the ids of one person and report that wait, only the newest may, in whatever order they come.
func TestNewestOnly(t *testing.T) {
	t.Parallel()
	s, _ := newLanes(t, report.Lanes{RunningJobs: 1})
	r := &report.Report{Name: "r", NewestOnly: true}
	ask := func(id, owner string, age time.Duration) []string {
		t.Helper()
		a, err := s.Lanes.Admit(t.Context(), []Seeker{{ID: id, Owner: owner, Age: age, Report: r}})
		if err != nil {
			t.Fatal(err)
		}
		return a.Replaced
	}
	for _, c := range []struct {
		id, owner string
		age       time.Duration
		replaced  []string
	}{
		{"9", "p", time.Hour, nil}, // it runs
		{"10", "p", time.Minute, nil},
		{"11", "q", time.Minute, nil},
		{"12", "", time.Minute, nil},
		{"13", "", time.Minute, nil},
		{"14", "p", 59_900 * time.Millisecond, []string{"10"}},
		{"10", "p", time.Minute, []string{"10"}},
		{"9", "p", time.Hour, []string{"10"}}, // again, after a crash
	} {
		if got := ask(c.id, c.owner, c.age); !slices.Equal(got, c.replaced) {
			t.Errorf("%s of %s replaces %v, want %v", c.id, c.owner, got, c.replaced)
		}
	}
	if err := s.Lanes.Remove(t.Context(), "10"); err != nil {
		t.Fatal(err)
	}
	if got := ask("15", "p", time.Second); !slices.Equal(got, []string{"14"}) {
		t.Errorf("15 replaces %v", got)
	}
	// Within a second, the number decides.
	if got := ask("2", "p", 500*time.Millisecond); !slices.Equal(got, []string{"14", "2"}) {
		t.Errorf("2 replaces %v", got)
	}
}

// BenchmarkParked tells how many bytes of Redis an id takes that waits for its turn.
func BenchmarkParked(b *testing.B) {
	s, client := newLanes(b, report.Lanes{RunningJobs: 1})
	for b.Loop() {
	}
	const ids = 20_000
	admitted(b, s, seekers("tenant-4711-", 1, ids, nil)...)
	var bytes int64
	for _, key := range []string{s.Keys.Lanes, s.Keys.ClassWaiting(report.NoLane)} {
		bytes += client.MemoryUsage(b.Context(), key, 0).Val()
	}
	b.ReportMetric(float64(bytes)/ids, "B/id")
	client.Del(b.Context(), s.Keys.Lanes, s.Keys.ClassWaiting(report.NoLane))
}
