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
