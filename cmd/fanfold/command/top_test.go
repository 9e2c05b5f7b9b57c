package command

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
)

// TestTopSort: printed jobs have the order of a column, as JSON, too.
func TestTopSort(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	for i, id := range []string{"30", "4", "200"} { // without a state, only the deadline is known
		s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Deadlines, redis.Z{Score: 4e12 + float64(i), Member: id})
	}
	later := s.Partitions.First().Keys.Delayed
	for _, member := range []string{"5", "30/1/one", "4/1/one"} { // one step has failed, and one waits
		s.Redis.ZAdd(t.Context(), later, redis.Z{Score: 4e12, Member: member})
	}
	s.Redis.HSet(t.Context(), s.Partitions.First().Keys.Job("4"), "one:error", "a deadlock")
	for sort, want := range map[string][]string{"deadline": {"30", "4", "200"}, "id": {"4", "30", "200"}} {
		var top inspect.Top
		out, code := s.fanfold("top", "--sort", sort, "-o", "json")
		if err := json.Unmarshal([]byte(out), &top); err != nil || code != exitOK {
			t.Fatalf("%v %d %s", err, code, out)
		}
		if top.Delayed != 2 {
			t.Errorf("%v later", top.Delayed)
		}
		var ids []string
		for _, j := range top.Jobs {
			ids = append(ids, j.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("by %s: %q", sort, ids)
		}
		out, _ = s.fanfold("top", "--once", "--sort", sort)
		place := func(id string) int { return strings.Index(out, "\n "+id+" ") }
		if !slices.IsSortedFunc(want, func(a, b string) int { return place(a) - place(b) }) || place(want[0]) < 0 {
			t.Errorf("by %s: %s", sort, out)
		}
	}
	if out, code := s.fanfold("top", "--sort", "size"); code != exitUsage || !strings.Contains(out, "report, status, done, data") {
		t.Errorf("%d %s", code, out)
	}
}
