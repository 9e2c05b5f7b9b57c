package scripts

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestScriptsThatRedisForgot are sent again in the middle of many calls, each of
// which has its effect once and in its order.
func TestScriptsThatRedisForgot(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t, false)
	if err := client.ScriptFlush(t.Context()).Err(); err != nil { // all tests live with that
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			id := fmt.Sprint("job-", i)
			if i%20 == 0 {
				client.ScriptFlush(t.Context())
			}
			outcome, err := s.Start(t.Context(), Start{
				ID: id, Attempt: 1, Report: "r", Definition: "d", Parameters: []byte("{}"), Timeout: time.Hour, Listeners: []string{"l"},
			})
			if err != nil || outcome != OK {
				t.Errorf("start %s: %v %v", id, outcome, err)
			}
			task := Task{ID: id, Attempt: 1, Listener: "l", Owner: "o", Lease: time.Minute}
			if outcome, _, err := s.Take(t.Context(), task, []string{"d"}); err != nil || outcome != OK {
				t.Errorf("take %s: %v %v", id, outcome, err)
			}
			chunk := Chunk{Rows: 1, Names: []string{"c"}, Columns: []map[string]string{{"name": "c"}}, Fields: [][]byte{[]byte("[1]")}}
			if outcome, err := s.Complete(t.Context(), task, chunk, 0); err != nil || outcome != Already {
				t.Errorf("complete %s: %v %v", id, outcome, err)
			}
		})
	}
	wg.Wait()
	if n := client.XLen(t.Context(), s.FanIn()).Val(); n != 200 {
		t.Errorf("%d barriers for 200 jobs", n)
	}
}

// BenchmarkTake measures calls that come at the same time, which share round
// trips.
func BenchmarkTake(b *testing.B) {
	s, _ := newScripts(b, false)
	if _, err := s.Start(b.Context(), Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: time.Hour, Listeners: []string{"l"}}); err != nil {
		b.Fatal(err)
	}
	task := Task{ID: "1", Attempt: 1, Listener: "l", Owner: "o", Lease: time.Minute}
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := s.Take(b.Context(), task, []string{"d"}); err != nil {
				b.Error(err)
			}
		}
	})
}
