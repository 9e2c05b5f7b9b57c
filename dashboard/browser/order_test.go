package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// TestOrderPage follows a person who orders a report without a login, from the catalogue to the file, and again.
func TestOrderPage(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	person := s.tab(t, browser, "")
	link := strings.TrimPrefix(s.fanfold("url", "--order", "ann", "--reports", "shop-sales,payments"), s.base)
	person.goTo(link)
	person.sees("You have not ordered anything yet.")
	if text := person.text(); strings.Contains(text, "tagged") {
		t.Errorf("a report that is not in the link: %s", text)
	}
	person.check("order")
	person.do(chromedp.Click(chromedp.CSS("a[href*='shop-sales']")))
	person.sees("Number of sales")
	day := time.Now().UTC().AddDate(0, 0, -30).Format(time.DateOnly)
	person.sees("today-30d is " + day)
	person.check("order-form")

	// What was typed stays when a value is wrong.
	open := s.shut("first")
	fill := func(values string) {
		eval[bool](person, "Object.entries("+values+").forEach(([k, v]) => document.getElementById('p-' + k).value = v), true")
	}
	fill(`{gate: 'first', size: '2000', from: '2024-06-01', paid: 'true'}`)
	person.click("input[value=books]")
	person.click("button")
	person.sees("The value of Number of sales cannot be used.")
	const typed = "[...document.querySelectorAll('[name^=\"p.\"]')].filter(e => e.type !== 'checkbox' || e.checked).map(e => e.value).join()"
	if got := eval[string](person, typed); got != "first,2024-06-01,2000,food,toys,books,true" {
		t.Errorf("what was typed is %s", got)
	}
	person.check("order-wrong")
	fill(`{size: '20'}`)
	person.click("button")
	person.sees("1 of 2 parts are ready.")
	person.check("order-waiting")
	person.click("#order-page a")

	// The progress is live: the page is loaded once.
	person.sees("In progress")
	eval[bool](person, "window.loadedOnce = true")
	person.check("order-running")
	open()
	person.sees("Download")
	if !eval[bool](person, "window.loadedOnce === true") {
		t.Error("the page was loaded again")
	}
	person.check("order-ready")
	person.downloads(`a[href*='/file']`, "sale,day,size,customer\r\n1,2024-06-01,20,ann\r\n")
	person.click("a[href*='from=']")
	person.sees("Number of sales")
	if got := eval[string](person, typed); got != "first,2024-06-01,20,food,toys,books,true" {
		t.Errorf("order again has %s", got)
	}
	person.goTo(link + "?lang=zh")
	person.sees("我的导出")
	person.check("order-zh")
}

// frame returns the page of another origin that a tab shows in a frame, and whose address is wanted.
func (b tab) frame(wanted func(url string) bool) tab {
	b.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		all, err := chromedp.Targets(b.ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, one := range all {
			if one.Type == "iframe" && wanted(one.URL) {
				return b.at(one)
			}
		}
	}
	b.t.Fatalf("no frame in %s", b.text())
	return tab{}
}

// at returns the tab of a target.
func (b tab) at(of *target.Info) tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithTargetID(of.TargetID))
	b.t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*patience)
	b.t.Cleanup(cancel)
	return tab{b.t, ctx, b.s}
}

// TestEmbedded: the admin page of the example shows the page to order from in a frame, in which a person orders a
// report, follows it and downloads it. No page of another origin can do that, and none can show the dashboard.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	example := filepath.Join(t.TempDir(), "admin")
	if out, err := exec.Command("go", "run", "-C", "../..", "-exec", "cp", "./examples/embed", example).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	admin := exec.CommandContext(t.Context(), example, s.admin)
	admin.Env = append(os.Environ(), "FANFOLD="+s.base, "FANFOLD_USER=oncall:oncall")
	admin.Stderr = os.Stderr
	if err := admin.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Process.Kill(); _ = admin.Wait() })
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get("http://" + s.admin + "/")
		if err == nil {
			_ = answer.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	outer := s.tab(t, browser, "")
	outer.do(chromedp.Navigate("http://" + s.admin + "/"))
	outer.sees("The end of the page")
	inner := outer.frame(func(url string) bool { return strings.HasPrefix(url, s.base+"/o/") })
	inner.sees("Sales of my shop")
	height := func(holds string) {
		t.Helper()
		script := "(() => { const h = document.querySelector('iframe').getBoundingClientRect().height; return " + holds + " })()"
		for deadline := time.Now().Add(patience); !eval[bool](outer, script); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the frame has not the height of its page: " + holds)
			}
		}
	}
	height("h > 200 && h < 800")
	eval[bool](inner, "document.querySelector(\"a[href*='shop-sales']\").click(), true")
	inner.sees("Number of sales")
	height("h > 500")
	open := s.shut("framed")
	eval[bool](inner, "document.getElementById('p-gate').value = 'framed', document.getElementById('p-size').value = '5', document.querySelector('form button').click(), true")
	inner.sees("1 of 2 parts are ready.")
	open()
	inner.sees("Download")
	inner.downloads(`a[href*='/file']`, "sale,day,size,customer\r\n1,"+time.Now().UTC().AddDate(0, 0, -30).Format(time.DateOnly)+",5,ann\r\n")

	// Another page cannot change the height.
	eval[bool](outer, `new Promise(done => {
		addEventListener('message', () => done(true))
		postMessage({fanfold: 'height', height: 12345}, '*')
	})`)
	height("h < 3000")

	// What another origin shows in a frame, and what the allowed one shows of the dashboard.
	link := s.fanfold("url", "--order", "ann")
	waiting := s.fanfold("url", "--page", s.run("shop-sales", "size=1"))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<!doctype html><title>evil</title><iframe src=%q></iframe>", r.URL.Query().Get("src"))
	}))
	t.Cleanup(other.Close)
	evil := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	blocked := func(in tab, src, what string) {
		t.Helper()
		frame := in.frame(func(url string) bool { return url == src })
		for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			if eval[string](frame, "location.href") == "chrome-error://chromewebdata/" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not blocked: %s", what, frame.text())
			}
		}
	}
	for _, src := range []string{link, waiting, s.base + "/"} {
		tab := s.tab(t, browser, "oncall")
		tab.do(chromedp.Navigate(evil + "/?src=" + src))
		blocked(tab, src, src+" in a page of another origin")
	}
	eval[bool](outer, fmt.Sprintf("document.querySelector('iframe').src = %q, true", s.base+"/"))
	blocked(outer, s.base+"/", "the dashboard in the admin page")
}
