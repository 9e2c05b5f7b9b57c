package inspect

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// TestEvents counts the ends of jobs and the tries that failed, each once.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	_, place, err := b.in.Events.Count(t.Context(), nil)
	b.OK(err)
	for _, values := range [][]string{
		{"event", "finished", "status", "SUCCESS", "tasks", "a:3:1:42,b:-:1:,c::2:"}, {"event", "retry", "step", "a"}, {"event", "failing", "by", "a"}, {"event", "omitted", "listener", "b"}, {"event", "started"},
	} {
		b.OK(b.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: b.Keys().Events, Values: values}).Err())
	}
	got, place, err := b.in.Events.Count(t.Context(), place)
	b.OK(err)
	if diff := cmp.Diff(Counts{map[report.Status]int{report.Success: 1}, map[string]int{"a": 2, "b": 1}, map[string][]time.Duration{"a": {42 * time.Millisecond}}}, got); diff != "" {
		t.Error(diff)
	}
	if got, _, err := b.in.Events.Count(t.Context(), place); err != nil || len(got.Ended)+len(got.Failed)+len(got.Took) != 0 {
		t.Errorf("%v %v", got, err)
	}
}
