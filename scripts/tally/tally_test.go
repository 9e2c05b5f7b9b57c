package tally

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/report"
)

// texts are the counters of a level as Redis has them after it has added the sums to nothing.
func texts(s Sums, level Level) map[int64]map[string]string {
	all := map[int64]map[string]string{}
	for key, names := range s {
		if key.Level == level {
			all[key.Number] = map[string]string{}
			for name, c := range names {
				all[key.Number][name] = c.String()
			}
		}
	}
	return all
}

// TestSums: what events tell comes back from the texts of every level, in the time of the event.
func TestSums(t *testing.T) {
	t.Parallel()
	at, s := time.UnixMilli(1_700_000_000_000), Sums{}
	for _, e := range []map[string]string{
		{"event": "started", "report": "r", "waited": "1500"},
		{"event": "started", "report": "r"}, // nobody knows when it was pushed
		{"event": "finished", "report": "r", "status": "SUCCESS", "ms": "300", "tasks": "a:3:1:42,b:-:1:,c::2:,d:7:0:9"},
		{"event": "finished", "report": "r", "status": "SUCCESS", "ms": "300", "tasks": "a:4:2:42"},
		{"event": "finished", "report": "q", "status": "FAILED", "ms": "10", "tasks": "-"},
		{"event": "finished", "status": "CANCELLED"}, // before it ran
		{"event": "retry", "step": "a"}, {"event": "failing", "by": "a"}, {"event": "failing", "by": "@deadline"},
		{"event": "retry", "step": "@fanin"},
		{"event": "omitted", "listener": "b"}, {"event": "stale", "listener": "b"}, {"event": "stage"},
	} {
		s.Event(at, e)
	}
	s.Event(at.Add(-day), map[string]string{"event": "retry", "step": "a"})
	s.Deploy(at, "v2")
	if len(s) != 2*len(Levels) {
		t.Errorf("%d keys", len(s))
	}
	want := Bucket{
		From: at,
		Reports: map[string]*Ended{
			"r": {map[report.Status]int64{"SUCCESS": 2}, Histogram{22: 1}, Histogram{17: 2}},
			"q": {map[report.Status]int64{"FAILED": 1}, Histogram{}, Histogram{7: 1}},
		},
		Listeners: map[string]*Tried{"a": {2, 2, 7, Histogram{11: 2}}, "b": {0, 2, 0, Histogram{}}},
		Versions:  []string{"v2"},
	}
	for _, level := range Levels {
		got := NewBucket(at)
		got.Fill(texts(s, level)[level.Number(at)])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", level.Name, diff)
		}
	}
	sum := NewBucket(at)
	sum.Add(want)
	sum.Add(want)
	if a, all := sum.Listeners["a"], sum.All(); a.OK != 4 || a.Failed != 4 || a.Rows != 14 || a.Took.Count() != 4 ||
		all.Status["SUCCESS"] != 4 || all.Status["FAILED"] != 2 || all.Run.Count() != 6 || all.Wait.Count() != 2 {
		t.Errorf("%+v %+v", a, all)
	}
}

// TestQuantiles are at most 19 % from the truth.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	h := Histogram{}
	if h.Quantile(0.5) != 0 {
		t.Error("there is a median of nothing")
	}
	for ms := 1; ms <= 100_000; ms++ {
		h[bucketOf(time.Duration(ms)*time.Millisecond)]++
	}
	for _, share := range []float64{0, 0.5, 0.95, 1} {
		is, want := h.Quantile(share), time.Duration(max(share*100_000, 1))*time.Millisecond
		if ratio := float64(is) / float64(want); ratio < 0.8 || ratio > 1.2 {
			t.Errorf("%v: %s, want %s", share, is, want)
		}
	}
	if n := bucketOf(365 * day); n != lastBucket || bucketOf(0) != 0 || bucketOf(-time.Second) != 0 {
		t.Error(n)
	}
}

// TestLevelFor takes the coarsest level that a step can be counted in.
func TestLevelFor(t *testing.T) {
	t.Parallel()
	for step, want := range map[time.Duration]string{
		time.Minute: "m", 3 * time.Minute: "m", 15 * time.Minute: "5m", time.Hour: "h", 6 * time.Hour: "h", 2 * day: "d",
		0: "", time.Second: "", -time.Minute: "",
	} {
		if got, err := LevelFor(step); got.Name != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q %v", step, got.Name, err)
		}
	}
}
