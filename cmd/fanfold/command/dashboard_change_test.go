package command

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// browser sends forms to the dashboard of a stack as a user does.
type browser struct {
	s              *stack
	base           string
	name, password string
}

func (b browser) send(method, path string, fields ...string) (int, string) {
	b.s.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.s.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if b.name != "" {
		r.SetBasicAuth(b.name, b.password)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.s.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// does posts a form and checks the code and the text of the resulting page.
func (b browser) does(path string, code int, says string, fields ...string) {
	b.s.Helper()
	if got, text := b.send("POST", path, fields...); got != code || !strings.Contains(text, says) {
		b.s.Errorf("%s %q: %d, not %d and %q:\n%s", path, fields, got, code, says, text)
	}
}

// TestDashboardChanges: every change that an operator can make in a browser takes effect, and the
// page says why one is refused.
func TestDashboardChanges(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow+`
  failing: {retry: {retries: 0}, listeners: {broken: {database: db, query: "SELECT k FROM there_is_none"}}}
  typed: {parameters: {n: integer, since: {type: date, default: null}, tags: {type: string, list: true}, yes: boolean}, listeners: {t: {database: db, query: "SELECT :n AS n FROM DUAL WHERE :yes AND 'a' IN (:tags) AND :since IS NULL"}}}
  chosen:
    parameters:
      tag: {options: [vip, new], description: Which <users>}
      ids: {type: integer, list: true, options: [4, 5, 6], default: [5]}
      size: {options: [S], default: null}
      day: {type: date, minimum: 2024-01-01, maximum: 2024-12-31}
      code: {pattern: "[A-Z]+"}
    listeners: {t: {database: db, query: "SELECT 1 AS n FROM DUAL WHERE :tag AND 4 IN (:ids) AND :size AND :day AND :code"}}
`, `limits: {shutdown_timeout: 1s}
timers: {beep: {key: "beep-{x}", append: {stream: messages, fields: {x: "{x}"}}}}`)
	base, page := s.browse()
	b := browser{s: s, base: base}
	has := func(id string, status report.Status, attempt int64) func() bool {
		return func() bool {
			r, err := s.Inspect.Jobs.Record(t.Context(), id)
			return err == nil && r.Status == status && r.Attempt == attempt
		}
	}

	b.does("/reports/typed/run", 200, "was inserted and pushed", "p.n", "7", "p.tags", "a\r\nb", "p.yes", "true")
	b.does("/reports/typed/run", 400, "n is not an integer", "p.n", "x", "p.tags", "a", "p.yes", "true")
	_, form := b.send("POST", "/reports/typed/run", "p.n", "<x>", "p.tags", "a\r\nb", "p.yes", "false", "p.since", "2024-02-30")
	for _, kept := range []string{`<details class="act" id="run-typed" open>`, `value="&lt;x&gt;" required aria-invalid="true"`, `required>a`, `<option selected>false</option>`, `value="2024-02-30" aria-invalid="true"`, "No record was inserted.", "since is not a date"} {
		if !strings.Contains(form, kept) {
			t.Errorf("the form misses %s: %s", kept, form)
		}
	}
	// A parameter with options is a choice, and each says what it means.
	_, form = b.send("POST", "/reports/chosen/run", "p.tag", "new", "p.ids", "4", "p.ids", "6", "p.day", "2023-12-31", "p.code", "a")
	for _, kept := range []string{
		`tag <span class="soft">string</span></label>`, `<span class="soft" id="d-p-chosen-tag">Which &lt;users&gt;</span>`,
		`<select id="p-chosen-tag" name="p.tag" required aria-describedby="d-p-chosen-tag"><option value="">choose …</option><option>vip</option><option selected>new</option></select>`,
		`ids <span class="soft">integer, one or more, default [5]</span>`, `<select id="p-chosen-ids" name="p.ids" multiple><option selected>4</option><option>5</option><option selected>6</option></select>`,
		`size <span class="soft">string, optional</span>`, `<select id="p-chosen-size" name="p.size"><option value="">none</option><option>S</option></select>`,
		`day <span class="soft">date, at least 2024-01-01, at most 2024-12-31</span>`, `type="date" min="2024-01-01" max="2024-12-31" value="2023-12-31" required aria-invalid="true" aria-describedby="w-p-chosen-day"`,
		`code <span class="soft">string, matches [A-Z]&#43;</span>`, "day is below the minimum", "code is a string that does not match the pattern", `<code>tag</code> (string: Which &lt;users&gt;)`,
	} {
		if !strings.Contains(form, kept) {
			t.Errorf("the form misses %s: %s", kept, form)
		}
	}
	b.does("/reports/chosen/run", 200, "was inserted and pushed", "p.tag", "new", "p.ids", "4", "p.ids", "6", "p.day", "2024-02-29", "p.code", "A", "p.size", "")
	if got, err := s.Process.Records.Read(t.Context(), []string{"2"}); err != nil || string(got["2"].Parameters) != `{"code":"A","day":"2024-02-29","ids":[4,6],"tag":"new"}` {
		t.Errorf("%s %v", got["2"].Parameters, err)
	}
	b.does("/reports/none/run", 400, "unknown report")
	s.Eventually("the record of the form succeeds", has("1", report.Success, 1))
	b.does("/jobs/1/retry", 200, "Job 1 was pushed again.")
	for _, want := range []bool{true, false} { // a message is shown once
		r, err := http.NewRequestWithContext(t.Context(), "POST", base+"/listeners/broken/resume", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if !want {
			_, _ = page(answer.Header.Get("Location"))
		}
		if _, text := page(answer.Header.Get("Location")); strings.Contains(text, "Listener broken is resumed.") != want {
			t.Errorf("shown once: %v: %s", want, text)
		}
	}
	s.Eventually("it succeeds again", has("1", report.Success, 2))

	runs := s.Records.Insert("slow", `{"seconds": 300}`)
	s.Jobs.Push(runs)
	s.Eventually("it runs", has(runs, report.Processing, 1))
	b.does("/jobs/"+runs+"/retry", 409, "fanfold cancel "+runs+" ends it")
	b.does("/jobs/"+runs+"/cancel", 200, "Job "+runs+": cancelled.", "reason", "no longer <i>needed</i>")
	if _, text := page("/jobs/" + runs); !strings.Contains(text, "cancelled in the dashboard: no longer &lt;i&gt;needed") {
		t.Errorf("no reason: %s", text)
	}
	b.does("/jobs/999999/cancel", 404, "no such record")
	b.does("/jobs/"+url.PathEscape("../x")+"/cancel", 400, "is not an id")

	b.does("/listeners/sleeper/pause", 400, "unknown listener")
	b.does("/listeners/broken/pause", 200, "is paused")
	if list, err := s.Inspect.Pauses.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	b.does("/listeners/broken/resume", 200, "Listener broken is resumed.")
	b.does("/reports/slow/pause", 200, "is paused")
	b.does("/reports/slow/resume", 200, "is resumed. Waiting ids that start now: 0.")
	if list, err := s.Inspect.Pauses.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}

	b.selects()

	// Dead jobs, as a group.
	var dead []string
	for range 5 {
		dead = append(dead, s.Records.Insert("failing", ""))
	}
	s.Jobs.Push(dead...)
	s.Eventually("all are dead", func() bool {
		n, _ := s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Dead).Result()
		return n == 5
	})
	group := ""
	s.Eventually("they are a group", func() bool {
		_, text := page("/dead")
		_, rest, ok := strings.Cut(text, `name="group" value="`)
		group, _, _ = strings.Cut(rest, `"`)
		return ok && strings.Contains(text, "5 ×")
	})
	if _, text := page("/confirm?to=/dead/retry&group=" + group); !strings.Contains(text, `value="yes" class="danger">Run 5 jobs again</button>`) || !strings.Contains(text, "failing: ") {
		t.Errorf("it does not ask: %s", text)
	}
	if _, text := page("/confirm?to=/dead/discard&group=" + group); !strings.Contains(text, `class="danger">Discard 5 jobs</button>`) {
		t.Errorf("it does not ask: %s", text)
	}
	if code, _ := page("/confirm?to=/jobs/1/cancel"); code != 404 {
		t.Errorf("it asks for a change that needs no question: %d", code)
	}
	for _, path := range []string{"/dead/retry", "/dead/discard"} {
		b.does(path, 400, "was not confirmed", "group", group)
	}
	if _, text := page("/dead?until=1h"); strings.Contains(text, "5 ×") || !strings.Contains(text, "No dead job is in this view.") {
		t.Errorf("before an hour ago: %s", text)
	}
	if _, text := page("/dead?since=1h"); !strings.Contains(text, "5 ×") {
		t.Errorf("in the last hour: %s", text)
	}
	_, list := page("/dead")
	for _, since := range []string{"noon", "today"} {
		code, text := page("/dead?since=" + since)
		if code != 200 || !strings.Contains(list, `"/dead?since=`+since+`"`) || !strings.Contains(text, `name="since" type="text" value="`+since+`"`) {
			t.Errorf("since %s: %d %s", since, code, text)
		}
	}
	if code, text := page("/dead?since=soon"); code != 400 || !strings.Contains(text, "since: &#34;soon&#34; is neither") {
		t.Errorf("%d %s", code, text)
	}
	b.does("/dead/discard", 404, "no longer exists", "group", group, "until", "1h", "confirm", "yes")
	if code, text := b.send("POST", "/dead/retry", "group", group, "dry", "1"); code != 200 || strings.Contains(text, "started") || !strings.Contains(text, "nothing is changed") {
		t.Errorf("%d %s", code, text)
	}
	s.Eventually("the dry run says what would be", func() bool { _, text := page("/dead"); return strings.Contains(text, "5 jobs would be changed") })
	b.does("/dead/retry", 200, "Run again: started.", "group", group, "confirm", "yes")
	s.Eventually("they ran again, and are dead again", func() bool {
		_, text := page("/dead")
		return strings.Contains(text, "5 jobs run again") && has(dead[4], report.Failed, 2)() && s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Dead).Val() == 5
	})
	b.does("/reports/failing/retry", 400, "is neither", "since", "soon")
	b.does("/reports/failing/retry", 200, "Run again: started.", "since", "1h")
	s.Eventually("all of the report ran again", func() bool {
		_, text := page("/dead")
		return strings.Contains(text, "Retry all 5") && has(dead[4], report.Failed, 3)() && s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Dead).Val() == 5
	})
	b.does("/dead/discard", 200, "Discard: started.", "group", group, "confirm", "yes")
	s.Eventually("none is listed", func() bool { return s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Dead).Val() == 0 })
	s.Eventually("the page knows it", func() bool { _, text := page("/dead"); return strings.Contains(text, "There are no dead jobs.") })
	b.does("/dead/retry", 404, "no longer exists", "group", group, "confirm", "yes")

	// Quarantined entries.
	quarantine := func(fields string) string {
		t.Helper()
		k := s.Partitions.First().Keys
		name, err := s.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: k.Quarantined, Values: []string{"stream", k.Jobs, "entry", "1-1", "reason", "no <b>record</b>", "fields", fields}}).Result()
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	pushed := s.Records.Insert("slow", `{"seconds": 0}`)
	late, unknown := quarantine("id="+pushed), quarantine("id=999999")
	s.Eventually("the page lists them", func() bool {
		_, text := page("/quarantine")
		return strings.Contains(text, late) && strings.Contains(text, unknown) && strings.Contains(text, "no &lt;b&gt;record")
	})
	b.does("/quarantine", 200, "again.", "entry", late, "action", "requeue")
	s.Jobs.Wait(pushed)
	b.does("/quarantine", 409, "there is no record with exactly this id", "entry", unknown, "action", "requeue")
	b.does("/quarantine", 400, "no such action", "entry", unknown, "action", "explode")
	b.does("/quarantine", 400, "is not an entry", "entry", "x", "action", "remove")
	b.does("/quarantine", 400, "was not confirmed", "entry", unknown, "action", "remove")
	if _, text := page("/confirm?to=/quarantine&entry=" + unknown); !strings.Contains(text, unknown+" is removed from the quarantine") {
		t.Errorf("it does not ask: %s", text)
	}
	lie := "Your+account+is+locked,+call+1234.+" + strings.Repeat("x", 200)
	for link, want := range map[string]int{
		"/quarantine&entry=1-1": 404, "/quarantine&entry=" + lie: 400, "/due/delayed&member=" + lie: 404, "/due/timers&name=beep-2": 404, "/due/timers&name=" + lie: 400,
	} {
		if code, text := page("/confirm?to=" + link); code != want || strings.Contains(text, "is removed") || strings.Contains(text, strings.Repeat("x", 200)) {
			t.Errorf("%s: %d, it asks about what does not exist: %s", link, code, text)
		}
	}
	b.does("/quarantine", 200, "No entry is quarantined.", "entry", unknown, "action", "remove", "confirm", "yes")
	b.does("/quarantine", 404, "is not in", "entry", unknown, "action", "remove")

	// What is due later.
	later := s.Records.Insert("slow", `{"seconds": 0}`)
	if out, code := s.fanfold("submit", later, "--in", "1h"); code != exitOK {
		t.Fatal(out)
	}
	b.does("/due/delayed", 200, later+" is due now.", "member", later, "action", "run")
	s.Jobs.Wait(later)
	b.does("/due/delayed", 404, "is not in", "member", later, "action", "run")
	later = s.Records.Insert("slow", `{"seconds": 0}`)
	if out, code := s.fanfold("submit", later, "--in", "1h"); code != exitOK {
		t.Fatal(out)
	}
	if _, text := page("/jobs/" + later); !strings.Contains(text, `action="/jobs/`+later+`/hurry"><button type="submit">Try now</button>`) {
		t.Errorf("no button: %s", text)
	}
	b.does("/due/delayed", 400, "was not confirmed", "member", later, "action", "remove")
	if _, text := page("/confirm?to=/due/delayed&member=" + later); !strings.Contains(text, later+" is removed from what is due later") {
		t.Errorf("it does not ask: %s", text)
	}
	b.does("/jobs/"+later+"/hurry", 200, "Job "+later+" is due now.")
	s.Jobs.Wait(later)
	b.does("/jobs/"+later+"/hurry", 404, "is not in")
	if _, text := page("/jobs/" + later); strings.Contains(text, "Try now") {
		t.Errorf("a button without an effect: %s", text)
	}
	if out, code := s.fanfold("timer", "set", "beep-1", "--in", "2h"); code != exitOK {
		t.Fatal(out)
	}
	b.does("/due/timers", 200, "is paused", "name", "beep-1", "action", "pause")
	if _, text := page("/confirm?to=/due/timers&name=beep-1"); !strings.Contains(text, "Timer beep-1 is removed") {
		t.Errorf("it does not ask: %s", text)
	}
	b.does("/due/timers", 200, "was resumed", "name", "beep-1", "action", "resume")
	b.does("/due/timers", 200, "was fired", "name", "beep-1", "action", "fire")
	s.Eventually("the message is there", func() bool { return s.Redis.XLen(t.Context(), "messages").Val() == 1 })
	b.does("/due/timers", 404, "no such timer", "name", "beep-2", "action", "remove", "confirm", "yes")
	b.does("/due/timers", 400, "not a valid timer name", "name", "a b", "action", "remove")
	b.does("/due/timers", 400, "no such action", "name", "beep-1", "action", "explode")
}
