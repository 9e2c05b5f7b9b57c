package browser

import (
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
