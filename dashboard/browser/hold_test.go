package browser

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// press presses Tab until the focus is on an element, if it is not there already, and then keys.
func (b tab) press(selector, keys string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(selector)))
	for range 200 {
		if eval[bool](b, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			b.do(chromedp.KeyEvent(keys))
			return
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("Tab does not reach %s in %s", selector, b.text())
}

// TestHolds: the keyboard alone pauses and limits sources, listeners and reports. Their pages then say since when, by
// whom, until when and why, and a form with a wrong value keeps what was typed.
func TestHolds(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	oncall, reader := s.tab(t, browser, "oncall"), s.tab(t, browser, "reader")
	has := func(b tab, pattern string) {
		t.Helper()
		if text := b.text(); !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("no %s in %s", pattern, text)
		}
	}
	const since, until = `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+`, ` by oncall until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+: `
	typed := func(want string) {
		t.Helper()
		const fields = "[...document.querySelectorAll('main input')].map(e => e.value).join()"
		if got := eval[string](oncall, fields); got != want {
			t.Errorf("the form has %s", got)
		}
	}

	for _, of := range []struct{ what, name, page string }{
		{"source", "db", "/listeners"},
		{"listener", "plt_pay.payments", "/listeners"},
		{"report", "payments", "/reports"},
	} {
		to := "/" + of.what + "s/" + of.name + "/pause"
		oncall.goTo(of.page)
		oncall.press("button[value='"+to+"']", kb.Enter)
		oncall.sees("Pause " + of.what + " " + of.name + "?")
		oncall.press("#reason", "its disk is <full>")
		oncall.press("#for", "soon"+kb.Enter)
		oncall.sees("soon: write a duration such as 90s, 10m, 24h, 1d or 1w")
		typed("its disk is <full>,soon")
		if of.what == "source" {
			oncall.check("pause-wrong")
		}
		eval[bool](oncall, "document.querySelector('#for').select(), true")
		oncall.do(chromedp.KeyEvent("2h" + kb.Enter))
		oncall.sees("is paused. What runs continues; nothing new starts.")
		oncall.sees("its disk is <full>")
		has(oncall, of.name+` has been paused since `+since+until+"its disk is <full>")
		reader.goTo(of.page)
		reader.sees("its disk is <full>")
		if of.what == "listener" {
			oncall.check("paused")
		}
		oncall.press("form[action$='/"+of.what+"s/"+of.name+"/resume'] button", kb.Enter)
		oncall.sees(of.name + " is resumed.")
		reader.goTo(of.page)
		if n := eval[int](reader, "document.querySelectorAll('main .chip.paused').length"); n != 0 {
			t.Errorf("%s: %d pauses are left", of.name, n)
		}
	}

	for _, of := range []struct{ what, name, page, column string }{
		{"source", "db", "/listeners", "0 of 3"},
		{"report", "payments", "/reports", "0 of 3"},
	} {
		to := "/" + of.what + "s/" + of.name + "/limit"
		oncall.goTo(of.page)
		oncall.press("button[value='"+to+"']", kb.Enter)
		oncall.sees("Limit " + of.what + " " + of.name + "?")
		if of.what == "source" {
			oncall.check("limit")
		}
		// The browser refuses what is no limit, and says why. The server refuses it, too.
		oncall.press("#limit", "0"+kb.Enter)
		if says := eval[string](oncall, "document.querySelector('#limit').validationMessage"); says == "" {
			t.Error("the browser accepts a limit of 0")
		}
		eval[bool](oncall, "document.querySelector('main form').noValidate = true")
		oncall.press("#reason", "month end")
		oncall.press("#for", "1d"+kb.Enter)
		oncall.sees("a limit is a number from 1 to 10000, not 0; a pause lets nothing begin")
		typed("0,month end,1d")
		if of.what == "source" {
			oncall.check("limit-wrong")
		}
		eval[bool](oncall, "document.querySelector('#limit').select(), true")
		oncall.press("#limit", "3"+kb.Enter)
		oncall.sees(of.name + " is limited to 3.")
		oncall.sees("month end")
		has(oncall, of.column+`\s+\w+ `+of.name+` has been limited to 3 since `+since+until+"month end")
		if of.what == "source" {
			oncall.check("limited")
		}
		reader.goTo(of.page)
		reader.sees("month end")

		// An empty limit is that of the configuration, and a button in the form or in the row means it, too.
		oncall.press("button[value='"+to+"']", kb.Enter)
		oncall.sees("empty: that of the configuration")
		if of.what == "source" {
			oncall.press("main form:not(.fields) button", kb.Enter)
		} else {
			oncall.press("#limit", kb.Enter)
		}
		oncall.sees("has the limit of the configuration.")
		reader.goTo(of.page)
		has(reader, of.name)
		if eval[bool](reader, "document.body.innerText.includes('month end')") {
			t.Errorf("%s is limited still", of.name)
		}
	}

	// The question is for operators, and about what exists.
	for _, one := range []struct {
		by   tab
		to   string
		code int
	}{
		{reader, "/sources/db/pause", 403}, {oncall, "/sources/nothing/pause", 400},
		{oncall, "/listeners/plt_pay.payments/limit", 400}, {oncall, "/jobs/1/pause", 404},
	} {
		if code := eval[int](one.by, "fetch('/confirm?to="+one.to+"').then(r => r.status)"); code != one.code {
			t.Errorf("%s: %d", one.to, code)
		}
	}
}
