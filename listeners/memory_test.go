package listeners

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestContend: in a full Redis the oldest job goes on, and no job waits for one that waits for it.
func TestContend(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	holder := func(id string, age, mbs int64, status string) scripts.Contender {
		return scripts.Contender{ID: id, Status: status, Bytes: mbs * mb, Since: time.UnixMilli(1_000_000 - age)}
	}
	small := func(id string, age int64) scripts.Contender {
		return scripts.Contender{ID: id, Status: job.StatusRun, Bytes: 50 << 10, Small: true, Since: time.UnixMilli(1_000_000 - age)}
	}
	crowd := slices.Repeat([]scripts.Contender{small("crowd", 1)}, 1000)
	run := func(id string, age, mbs int64) scripts.Contender { return holder(id, age, mbs, job.StatusRun) }
	full := scripts.Usage{Used: 100 * mb, Max: 100 * mb}
	for name, c := range map[string]struct {
		usage  scripts.Usage
		me     scripts.Contender
		others []scripts.Contender
		want   room
		victim string
	}{
		"memory was freed":               {scripts.Usage{Used: 90 * mb, Max: 100 * mb}, run("me", 5, 40), []scripts.Contender{run("old", 9, 40)}, roomFree, ""},
		"maxmemory was removed":          {scripts.Usage{Used: 90 * mb}, run("me", 5, 40), nil, roomFree, ""},
		"deleted keys are being freed":   {scripts.Usage{Used: 100 * mb, Max: 100 * mb, Freeing: true}, run("me", 5, 40), []scripts.Contender{run("young", 1, 40)}, roomWait, ""},
		"the youngest makes room":        {full, run("me", 5, 30), []scripts.Contender{run("old", 9, 20), run("young", 1, 20), run("younger", 3, 20)}, roomPreempt, "young"},
		"the id decides between equals":  {full, run("b", 5, 30), []scripts.Contender{run("a", 5, 30), run("c", 5, 30)}, roomPreempt, "c"},
		"older jobs have it":             {full, run("me", 5, 30), []scripts.Contender{run("old", 9, 20), run("oldest", 10, 20)}, roomYield, "oldest"},
		"a job that ends frees it soon":  {full, run("me", 5, 30), []scripts.Contender{run("old", 9, 20), holder("ends", 1, 40, job.StatusFold)}, roomWait, ""},
		"larger than Redis":              {full, run("me", 5, 90), nil, roomNone, ""},
		"others are too small to help":   {full, run("me", 5, 90), []scripts.Contender{run("young", 1, 2)}, roomNone, ""},
		"many small jobs end soon":       {full, run("me", 5, 60), crowd, roomOccupied, ""},
		"a small job beside a large one": {full, small("me", 5), []scripts.Contender{run("young", 1, 90)}, roomOccupied, ""},
		"only small jobs":                {full, small("me", 5), []scripts.Contender{small("old", 9), small("young", 1)}, roomPreempt, "young"},
		"other data than that of jobs":   {full, run("me", 5, 20), nil, roomOccupied, ""},
		"of others, who would not help":  {full, run("me", 5, 40), []scripts.Contender{run("young", 1, 1)}, roomOccupied, ""},
	} {
		what, victim := contend(c.usage, c.me, c.others, mb)
		if what != c.want || victim.ID != c.victim {
			t.Errorf("%s: %d %q, want %d %q", name, what, victim.ID, c.want, c.victim)
		}
	}
	err := tooLarge(full, run("me", 5, 90), []scripts.Contender{run("young", 1, 2)}, mb)
	if want := "it has stored 90.0 MB, and the next 1.0 MB do not fit into maxmemory (100.0 MB), of which other jobs hold 2.0 MB and everything else 8.0 MB"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
