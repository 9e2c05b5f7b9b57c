package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestFloodsAndFlow: the values of a parameter are sorted and cancelled, and the boxes of a report's flow are links that
// the keyboard reaches.
func TestFloodsAndFlow(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	oncall := s.tab(t, browser, "oncall")
	open := s.shut("first")
	defer open()
	first, second := s.run("tagged-withdrawals", "gate=first"), s.run("tagged-withdrawals", "gate=first")
	oncall.goTo("/jobs/" + second)
	oncall.sees("running")
	oncall.goTo("/floods?param=gate")
	oncall.sees("Cancel all")
	oncall.check("floods")
	oncall.click("thead a[href*='-running']")
	oncall.sees("Link of this view")
	if sorted := eval[string](oncall, "location.search + document.querySelector('[aria-sort]')?.getAttribute('aria-sort')"); sorted != "?param=gate&sort=-runningdescending" {
		t.Errorf("the table is sorted by %s", sorted)
	}
	oncall.click("#floods tbody form button")
	oncall.sees("Cancel: 2 jobs?")
	oncall.sees(first + ", " + second)
	oncall.sees("gate = first of report tagged-withdrawals: 0 waiting jobs, 2 running jobs.")
	oncall.check("floods-confirm")

	// The lanes, what people did, and an address without a page.
	oncall.goTo("/")
	oncall.sees("Oldest waiting job")
	oncall.knowsMenu()
	oncall.check("overview-lanes")
	oncall.goTo("/audit")
	oncall.sees("report tagged-withdrawals")
	oncall.check("audit")
	oncall.goTo("/nothing")
	oncall.sees("this page does not exist")
	oncall.check("not-found")

	reader := s.tab(t, browser, "reader")
	reader.goTo("/floods?param=gate")
	reader.sees("first")
	if text := reader.text(); strings.Contains(text, "Cancel all") {
		t.Errorf("a viewer may cancel: %s", text)
	}
	reader.goTo("/reports/tagged-withdrawals")
	reader.sees("Left to right")
	reader.check("flow")
	box := chromedp.CSS(".flow a[href='/jobs?q=plt_fund.vs_withdraw']")
	if says := eval[string](reader, "document.querySelector(`"+string(box)+"`).textContent"); !strings.Contains(says, "db · works 2 running, 0 waiting") {
		t.Errorf("the box says %s", says)
	}
	reader.do(chromedp.Focus(box), chromedp.KeyEvent("\r"))
	reader.sees("2 of 2")
}
