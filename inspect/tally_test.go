package inspect

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/tally"
)

// TestTally: the counters of all partitions are added, in buckets of a step. A version is a mark once.
func TestTally(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	var parts scripts.Partitions
	now := time.Now().Truncate(time.Hour).Add(30 * time.Minute)
	for i, name := range []string{"0", "1"} {
		prefix := testmain.Name(t) + name
		s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: prefix + ":", Hash: prefix + "-"}})
		parts = append(parts, s)
		sums := tally.Sums{}
		for _, ago := range []time.Duration{0, time.Minute, 50 * time.Minute, 90 * time.Minute} {
			sums.Event(now.Add(-ago), map[string]string{"event": "finished", "report": "r", "status": "SUCCESS", "ms": "5", "tasks": "a:2:1:5"})
		}
		sums.Deploy(now.Add(time.Duration(i-1)*time.Hour), "v2") // the second partition notes it later
		if outcome, err := s.Tally.Count(t.Context(), scripts.TallyCursor{}, scripts.TallyCursor{Entry: "1-0"}, sums); outcome != scripts.OK || err != nil {
			t.Fatal(outcome, err)
		}
	}
	in := New(Options{Scripts: parts})
	for _, c := range []struct {
		from, to time.Duration // ago
		step     time.Duration
		want     []int64
	}{
		{2 * time.Hour, -time.Minute, time.Hour, []int64{0, 4, 4}},
		{90 * time.Minute, 0, 15 * time.Minute, []int64{2, 0, 2, 0, 0, 2}},
		{2 * time.Minute, -time.Minute, time.Minute, []int64{0, 2, 2}},
		{2 * time.Hour, -30 * time.Minute, 48 * time.Hour, nil},
		{0, 0, time.Minute, []int64{}},
	} {
		buckets, err := in.Tally.Read(t.Context(), now.Add(-c.from), now.Add(-c.to), c.step)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == nil { // the day can have begun between the two
			sum := tally.NewBucket(now)
			for _, b := range buckets {
				sum.Add(b)
			}
			if n := sum.Reports["r"].Status[report.Success]; n != 8 {
				t.Errorf("%d in the days", n)
			}
			continue
		}
		if len(buckets) != len(c.want) {
			t.Errorf("every %s: %d buckets", c.step, len(buckets))
			continue
		}
		for i, b := range buckets {
			if all := b.All(); all.Status[report.Success] != c.want[i] || b.From != now.Add(-c.from).Truncate(c.step).Add(time.Duration(i)*c.step) {
				t.Errorf("every %s, %d at %s: %+v", c.step, i, b.From, all)
			}
		}
	}
	hours, err := in.Tally.Read(t.Context(), now.Add(-time.Hour), now, time.Hour)
	if err != nil || len(hours) != 2 || len(hours[0].Versions) != 1 || hours[1].Versions != nil {
		t.Errorf("%+v %v", hours, err)
	}
	for _, step := range []time.Duration{time.Second, 0, time.Minute} {
		if _, err := in.Tally.Read(t.Context(), now.Add(-100*time.Hour), now, step); err == nil {
			t.Errorf("a step of %s is answered", step)
		}
	}
}
