package command

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// selects changes selected rows, and all rows of a view.
func (b browser) selects() {
	s := b.s
	s.Helper()
	asks := func(says string, fields ...string) []string {
		s.Helper()
		code, text := b.send("POST", "/select", fields...)
		if code != 200 || !strings.Contains(text, says) {
			s.Fatalf("%q: %d without %q: %s", fields, code, says, text)
		}
		var asked []string
		for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(text, -1) {
			asked = append(asked, m[1], m[2])
		}
		return asked
	}
	paused := func(want int) func() bool {
		return func() bool {
			list, err := s.Inspect.Pauses.List(s.Context())
			return err == nil && len(list) == want
		}
	}
	view := []string{"table", "listeners", "view", "/listeners?sort=name"}
	asked := asks("Pause 2 listeners", append(view, "change", "listeners/pause", "row", "one", "row", "broken")...)
	b.does("/bulk", 400, "was not confirmed", asked...)
	asked = append(asked, "confirm", "yes")
	b.does("/bulk", 200, "Pause 2 listeners: started.", asked...)
	s.Eventually("both are paused", paused(2))
	for i, value := range asked {
		asked[i] = strings.Replace(value, "listeners/pause", "listeners/resume", 1)
	}
	b.does("/bulk", 200, "Undo", asked...)
	s.Eventually("none is paused", paused(0))
	b.does("/select", 200, "listeners?", append(view, "change", "listeners/pause", "all", "yes")...)
	b.does("/select", 200, "Nothing was changed: select the rows first.", append(view, "change", "listeners/pause")...)
	b.does("/select", 404, "does not exist", append(view, "change", "listeners/explode", "row", "one")...)
	b.does("/select", 404, "does not exist", "change", "listeners/pause", "view", "//evil.example/listeners", "row", "one")
	b.does("/bulk", 404, "does not exist", "change", "listeners/pause", "view", "//evil.example/jobs", "row", "one", "confirm", "yes")

	// All jobs of a view, and no others.
	var ids []string
	for _, seconds := range []string{"301", "301", "302"} {
		ids = append(ids, s.Records.Insert("slow", `{"seconds": `+seconds+`}`))
	}
	s.Jobs.Push(ids...)
	status := func(id string, want report.Status) bool {
		r, err := s.Inspect.Jobs.Record(s.Context(), id)
		return err == nil && r.Status == want
	}
	s.Eventually("they run", func() bool {
		_, text := b.send("GET", "/jobs?q="+url.QueryEscape("seconds=301"))
		return strings.Contains(text, "1 to 2 of 2") && status(ids[2], report.Processing)
	})
	asked = asks("Cancel 2 jobs", "table", "running", "view", "/jobs?q=seconds%3D301&size=1", "all", "yes", "change", "jobs/cancel")
	b.does("/bulk", 200, "Cancel 2 jobs: started.", append(asked, "confirm", "yes")...)
	s.Eventually("two are cancelled", func() bool {
		return status(ids[0], report.Cancelled) && status(ids[1], report.Cancelled)
	})
	if !status(ids[2], report.Processing) {
		s.Error("a job that is not in the view was cancelled")
	}
	s.Eventually("the page says so", func() bool {
		_, text := b.send("GET", "/jobs")
		return strings.Contains(text, "2 jobs done")
	})
	b.does("/jobs/"+ids[2]+"/cancel", 200, "cancelled")

	// Due times move, and back.
	due := time.Now().Add(2 * time.Hour).UnixMilli()
	delayed := s.Partitions.Of(ids[0]).Keys.Delayed
	s.Redis.ZAdd(s.Context(), delayed, redis.Z{Score: float64(due), Member: ids[0]})
	isDue := func(at int64) func() bool {
		return func() bool { return int64(s.Redis.ZScore(s.Context(), delayed, ids[0]).Val()) == at }
	}
	b.does("/bulk", 200, "Undo", "change", "later/delay", "row", ids[0], "row", "999999", "view", "/due", "confirm", "yes")
	s.Eventually("its due time moves", isDue(due+3600_000))
	s.Eventually("the other is not delayed", func() bool {
		_, text := b.send("GET", "/due")
		return strings.Contains(text, "1 unchanged: it is no longer delayed")
	})
	b.does("/bulk", 200, "Undo", "change", "later/advance", "row", ids[0], "view", "/due", "confirm", "yes")
	s.Eventually("it moves back", isDue(due))
	b.does("/bulk", 200, "started", "change", "later/remove", "row", ids[0], "view", "/due", "confirm", "yes")
	s.Eventually("it is removed", func() bool { return s.Redis.ZCard(s.Context(), delayed).Val() == 0 })
}
