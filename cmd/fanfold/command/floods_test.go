package command

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// TestFloods: the page and the command name the value of a parameter with the most jobs, and all its jobs are delayed
// or cancelled together.
func TestFloods(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow+`
  other: {parameters: {kind: string}, listeners: {o: {database: db, query: "SELECT :kind AS k"}}}
`, "limits: {shutdown_timeout: 1s}")
	base, page := web{s.Stack, s.processes}.browse()
	b := browser{s: s, base: base}
	add := func(seconds string) string {
		id := s.Records.Insert("slow", `{"seconds": `+seconds+`}`)
		s.Jobs.Push(id)
		return id
	}
	status := func(id string, want report.Status) func() bool {
		return func() bool {
			r, err := s.Inspect.Jobs.Record(s.Context(), id)
			return err == nil && r.Status == want
		}
	}
	runs := []string{add("401"), add("401"), add("402")}
	for _, id := range runs {
		s.Eventually("it runs", status(id, report.Processing))
	}
	waits := s.Records.Insert("slow", `{"seconds": 401}`)
	delayed := s.Partitions.Of(waits).Keys.Delayed
	s.Redis.ZAdd(s.Context(), delayed, redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: waits})
	var list []inspect.Flood
	out, _, code := s.runApart("floods", "seconds", "--report", "slow", "-o", "json")
	if json.Unmarshal([]byte(out), &list) != nil || code != exitOK || len(list) != 2 || list[0].Value != "401" || list[0].Running != 2 || list[0].Waiting != 1 || list[1].Value != "402" {
		t.Errorf("%d: %s", code, out)
	}
	for args, want := range map[string]string{
		"floods seconds":           "401",
		"floods second":            `did you mean "seconds"?`,
		"floods seconds --limit 0": "limit",
		"floods kind":              "no job with this parameter waits",
		"floods kind --report no":  "unknown report",
	} {
		if out, _ := s.fanfold(strings.Fields(args)...); !strings.Contains(strings.ToLower(out), want) {
			t.Errorf("%s: %s", args, out)
		}
	}
	row := func(value string) string {
		_, text := page("/floods?param=seconds")
		return regexp.MustCompile(`(?s)<a href="/records[^"]*">` + value + `</a>.*?</tr>`).FindString(text)
	}
	s.Eventually("the page has them", func() bool {
		return regexp.MustCompile(`(?s)Waiting jobs">.*>1</a>.*Running jobs">.*href="/jobs\?q=seconds%3D401">2</a>.*Cancel all.*Delay all`).MatchString(row("401"))
	})
	for path, want := range map[string]string{
		"/floods?report=other":                        "No job with this parameter waits",
		"/floods?report=slow&param=kind":              `<option selected>seconds</option>`,
		"/floods?report=no&param=kind":                "no parameters",
		"/floods?param=seconds&sort=-running":         `aria-sort="descending"`,
		"/records?since=any+time&param=seconds%3D401": ">" + waits + "</a>",
	} {
		if code, text := page(path); code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d without %s", path, code, want)
		}
	}
	ask := func(says string, fields ...string) []string {
		t.Helper()
		code, text := b.send("POST", "/select", append([]string{"table", "floods", "view", "/floods?param=seconds"}, fields...)...)
		if code != 200 || !strings.Contains(text, says) {
			t.Fatalf("%q: %d without %q: %s", fields, code, says, text)
		}
		var asked []string
		for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(text, -1) {
			asked = append(asked, m[1], m[2])
		}
		return append(asked, "confirm", "yes")
	}
	before := s.Redis.ZScore(s.Context(), delayed, waits).Val()
	b.does("/bulk", 200, "Undo", ask("Delay by an hour 1 job", "change", "floods/delay", "row", "401", "row", "402")...)
	s.Eventually("it is delayed", func() bool {
		return s.Redis.ZScore(s.Context(), delayed, waits).Val() == before+3600_000
	})
	ask("Cancel 4 jobs", "change", "floods/cancel", "all", "yes")
	ask("seconds = 401 of report slow: 1 waiting job, 2 running jobs.", "change", "floods/delay", "row", "401")
	asked := ask("seconds = 401 of report slow: 1 waiting job, 2 running jobs.", "change", "floods/cancel", "row", "401")
	b.does("/bulk", 200, "started", append(asked, "reason", "too <many>")...)
	for _, id := range []string{runs[0], runs[1], waits} {
		s.Eventually("it is cancelled", status(id, report.Cancelled))
	}
	if !status(runs[2], report.Processing)() {
		t.Error("a job with another value was cancelled")
	}
	if r, err := s.Inspect.Jobs.Record(s.Context(), waits); err != nil || !strings.HasSuffix(r.Error, ": too <many>") {
		t.Errorf("the reason of a record is %q: %v", r.Error, err)
	}
	if acts, err := s.Inspect.Acts.List(s.Context(), inspect.ActFilter{Act: "cancel", On: []string{waits}}, 1); err != nil || len(acts) != 1 || !strings.HasSuffix(acts[0].Detail, ": too <many>") {
		t.Errorf("the audit has %v: %v", acts, err)
	}
	b.does("/select", 200, "Nothing was changed: seconds = 402 of report slow: 0 waiting jobs, 1 running job.", "table", "floods", "view", "/floods?param=seconds", "change", "floods/delay", "row", "402")
	b.does("/select", 200, "Nothing was changed: select the rows first.", "table", "floods", "view", "/floods?param=seconds", "change", "floods/delay")
}
