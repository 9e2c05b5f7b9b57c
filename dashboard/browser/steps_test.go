package browser

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/redis/go-redis/v9"
)

// steps is a person at a keyboard, whose steps count: an element that is activated, or a field that is filled in.
type steps struct {
	tab
	n int
}

// overview begins at the overview.
func (s *steps) overview() {
	s.t.Helper()
	s.n = 0
	s.goTo("/")
	s.sees("Health")
}

// step activates what a selector finds.
func (s *steps) step(selector string) {
	s.t.Helper()
	s.n++
	s.press(selector, kb.Enter)
}

// within fails if there were more steps.
func (s *steps) within(most int, what string) {
	s.t.Helper()
	if s.n > most {
		s.t.Errorf("%s takes %d steps", what, s.n)
	}
}

// TestRetryInTwoSteps: what failed of a report since noon runs again two steps after the overview.
func TestRetryInTwoSteps(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	oncall := &steps{tab: s.tab(t, browser, "oncall")}
	for range 3 {
		s.run("payments")
	}
	oncall.goTo("/dead")
	oncall.sees("3 ×")
	old := s.redis.ZRange(t.Context(), "fanfold:dead", 0, 0).Val()
	if len(old) != 1 {
		t.Fatal(old)
	}
	before := float64(time.Now().Add(-48 * time.Hour).UnixMilli())
	if err := s.redis.ZAdd(t.Context(), "fanfold:dead", redis.Z{Score: before, Member: old[0]}).Err(); err != nil {
		t.Fatal(err)
	}
	s.exec("CREATE TABLE company.payments (k INT)")
	oncall.sees("Retry all 3")

	oncall.overview()
	oncall.step("nav a[href$='/dead']")
	oncall.sees("Retry 2 since")
	oncall.check("dead-reports")
	oncall.step("#failures form:has([name=since]) button")
	oncall.sees("2 jobs run again")
	oncall.within(2, "a retry")
	oncall.sees("Retry all 1")
	if text := oncall.text(); strings.Contains(text, "Retry 1 since") {
		t.Errorf("a job of the day before yesterday failed since noon: %s", text)
	}
	if to := eval[string](oncall.tab, "document.querySelector('#sweeps a').getAttribute('href')"); to != "/jobs?q=payments" {
		t.Errorf("the running jobs are at %s", to)
	}

	// The filter is in the address.
	oncall.goTo("/dead?report=shop-sales")
	oncall.sees("No dead job is in this view.")
	if got := eval[string](oncall.tab, "document.querySelector('main select').value"); got != "shop-sales" {
		t.Errorf("the filter is %q", got)
	}
}

// TestPauseInTwoSteps: a source is paused two steps after the overview, and resumed as fast. Meanwhile its row says by
// whom and until when, and takes the reason.
func TestPauseInTwoSteps(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	oncall := &steps{tab: s.tab(t, browser, "oncall")}
	has := func(pattern string) {
		t.Helper()
		if text := oncall.text(); !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("no %s in %s", pattern, text)
		}
	}
	const row = "#source-db "
	const by = `db has been paused since \S+ \S+ \S+ by oncall until (\S+ \S+ \S+)`
	for _, long := range []string{"30m", "1h", "2h"} {
		oncall.overview()
		oncall.step("nav a[href$='/sources']")
		oncall.step(row + "form:has([value='" + long + "']) button")
		oncall.sees("Source db is paused.")
		oncall.within(2, "a pause")
		has(by)
		until := regexp.MustCompile(by).FindStringSubmatch(oncall.text())[1]
		end, err := time.Parse("2006-01-02 15:04:05 -07:00", until)
		length, _ := time.ParseDuration(long)
		if left := time.Until(end); err != nil || left > length || left < length-patience {
			t.Errorf("a pause of %s ends in %v: %v", long, left, err)
		}

		oncall.press(row+"[name=reason]", "its disk is "+long+kb.Enter)
		oncall.sees("The reason of the pause of source db is changed.")
		has(by + ": its disk is " + long)
		if !strings.Contains(oncall.text(), until) {
			t.Errorf("the reason has changed the end, which was %s: %s", until, oncall.text())
		}
		if long == "1h" {
			oncall.check("sources-paused")
		}

		oncall.overview()
		has(`Paused\s+database db by oncall until \d\d:\d\d`)
		if long == "1h" {
			oncall.check("overview-paused")
		}
		oncall.step("#health a[href$='/sources#source-db']")
		oncall.step(row + "form[action$='/resume'] button")
		oncall.sees("Source db is resumed.")
		oncall.within(2, "a resume")
	}
	oncall.press(row+"button[value$='/pause']", kb.Enter)
	oncall.sees("Pause source db?")
	if at := eval[string](oncall.tab, "document.activeElement.id"); at != "reason" {
		t.Errorf("the focus is on %q", at)
	}

	// A limit ends with one button of its row.
	s.fanfold("limit", "source", "db", "2")
	oncall.overview()
	oncall.step("nav a[href$='/sources']")
	oncall.sees("has been limited to 2")
	oncall.step(row + "form[method=post][action$='/limit'] button")
	oncall.sees("Source db has the limit of the configuration.")
	oncall.within(2, "the end of a limit")
	reader := s.tab(t, browser, "reader")
	reader.goTo("/sources")
	reader.sees("Over time")
	if n := eval[int](reader, "document.querySelectorAll('main :is(button, input)').length"); n != 0 {
		t.Errorf("a reader has %d buttons", n)
	}
}
