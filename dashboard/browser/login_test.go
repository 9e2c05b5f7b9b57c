package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLogin: a person without a login is led to the form, logs in with the keyboard, and logs out.
func TestLogin(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	person := s.tab(t, browser, "")
	at := func(path string) {
		t.Helper()
		if text := person.text(); !strings.HasPrefix(text, s.base+path+"\n") {
			t.Errorf("not at %s: %s", path, text)
		}
	}
	fill := func(selector chromedp.CSS, text string) {
		t.Helper()
		person.do(chromedp.SendKeys(selector, text))
	}
	person.goTo("/jobs?status=RUN")
	person.sees("Password")
	at("/login?next=%2Fjobs%3Fstatus%3DRUN")
	if font := eval[string](person, "getComputedStyle(document.querySelector('button.download')).fontWeight"); font != "600" {
		t.Errorf("the form has no style: %s", font)
	}
	person.check("login")
	fill("#name", "oncall")
	fill("#password", "wrong\r")
	person.sees("The name or the password is wrong.")
	person.check("login-wrong")
	fill("#password", "oncall\r")
	person.sees("Log out")
	at("/jobs?status=RUN")
	person.check("logged-in")
	if seen := eval[string](person, "document.cookie"); seen != "" {
		t.Errorf("scripts see %s", seen)
	}
	if code := eval[int](person, "fetch('/api/v1/reports').then(r => r.status)"); code != 200 {
		t.Errorf("the API says %d", code)
	}
	// A page that is open leads to the form when the session ends elsewhere.
	if code := eval[int](person, "fetch('/logout', {method: 'POST'}).then(r => r.status)"); code != 200 {
		t.Errorf("the logout says %d", code)
	}
	person.sees("Password")
	at("/login?next=%2Fjobs%3Fstatus%3DRUN")
	fill("#name", "oncall")
	fill("#password", "oncall\r")
	person.sees("Log out")
	person.click("form.logout button")
	person.sees("Password")
	at("/login")
	person.goTo("/jobs")
	person.sees("Password")
}
