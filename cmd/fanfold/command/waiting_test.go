package command

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// waiter is a person with links to waiting pages.
type waiter struct {
	*stack
	base string
}

// newWaiter serves a stack with waiting pages.
func newWaiter(t *testing.T, reports string, more ...string) waiter {
	t.Helper()
	base := "http://" + e2e.Address(t)
	s := newStack(t, reports, append(more, `http: {url: "`+base+`", link_secret: "`+strings.Repeat("k", 32)+`"}`)...)
	return waiter{s, base}
}

// serve starts to answer requests.
func (w waiter) serve() {
	w.Helper()
	w.process("-c", w.File, "serve", "--http", strings.TrimPrefix(w.base, "http://"))
	w.Eventually("the server answers", func() bool { code, _, _ := w.get(w.base + "/r/x"); return code == http.StatusNotFound })
}

// link returns the address of the waiting page of a record.
func (w waiter) link(id string, more ...string) string {
	w.Helper()
	out, code := w.fanfold(append([]string{"url", "--page", id}, more...)...)
	if code != exitOK || !strings.HasPrefix(out, w.base+"/r/") {
		w.Fatalf("%d %s", code, out)
	}
	return strings.TrimSpace(out)
}

// get requests a page without following redirects. Code 0 means that there was no answer.
func (w waiter) get(url string) (code int, text string, header http.Header) {
	w.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Get(url)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		w.Fatal(err)
	}
	return r.StatusCode, string(b), r.Header
}

// says polls a page until it has all of these words.
func (w waiter) says(url string, words ...string) (text string) {
	w.Helper()
	w.Eventually(strings.Join(words, ", "), func() bool {
		code, now, _ := w.get(url)
		for _, word := range words {
			if !strings.Contains(now, word) {
				return false
			}
		}
		text = now
		return code == http.StatusOK
	})
	return text
}

// TestWaitingPage follows three people from the queue to their file.
func TestWaitingPage(t *testing.T) {
	t.Parallel()
	w := newWaiter(t, `
  weekly:
    label: Weekly <withdrawals>
    listeners: {
      quick.one: {database: db, query: "SELECT 1 AS k, 'a' AS a"},
      slow.gate: {label: Gated payments, database: db, query: "SELECT k, b FROM gate"}}
    join: {key: k, listeners: [quick.one, slow.gate]}
    file: {columns: [k, a, b]}`, `limits: {shutdown_timeout: 1s, running_jobs: 1}`)
	w.Records.Exec("CREATE TABLE gate (k INT, b TEXT)")
	w.Records.Exec("INSERT INTO gate VALUES (1, 'b')")
	holder, err := w.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if _, err := holder.ExecContext(t.Context(), "LOCK TABLES gate WRITE"); err != nil {
		t.Fatal(err)
	}
	w.serve()
	ids := []string{w.Records.Insert("weekly", ""), w.Records.Insert("weekly", ""), w.Records.Insert("weekly", "")}
	var links []string
	for _, id := range ids {
		links = append(links, w.link(id))
	}
	w.says(links[0], "Waiting to start", "It has not started yet.")
	w.Jobs.Push(ids[0])
	text := w.says(links[0], "In progress", "1 of 2 parts are ready.", "Weekly &lt;withdrawals&gt;", "Gated payments", "not ready yet", "1 row<")
	for _, not := range []string{"Download", "<withdrawals>", "SELECT", "slow.gate"} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q:\n%s", not, text)
		}
	}
	if !strings.Contains(text, `<noscript><meta http-equiv="refresh"`) || !strings.Contains(text, `src="-/live.js"`) {
		t.Errorf("the page does not come again:\n%s", text)
	}
	w.says(links[0]+"?lang=de", `<html lang="de">`, "1 von 2 Teilen sind fertig.", "/live?lang=de")
	w.Jobs.Push(ids[1], ids[2])
	w.says(links[1], "Waiting to start", "It is the next one to start.")
	w.says(links[2], "One other report is ahead of it.")
	if code, _, header := w.get(links[0] + "/file"); code != http.StatusSeeOther || !strings.HasSuffix(links[0], strings.TrimPrefix(header.Get("Location"), "../")) {
		t.Errorf("a file that is not made: %d %v", code, header)
	}
	w.Eventually("the job's hash tells how far it is", func() bool {
		return strings.HasPrefix(w.Redis.HGet(t.Context(), w.Partitions.Of(ids[0]).Keys.Job(ids[0]), "progress").Val(), "1/2 · gate")
	})
	// The event stream reports the end.
	stream, err := http.Get(links[0] + "/live")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "In progress") {
	}
	if _, err := holder.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	told := ""
	for lines.Scan() {
		told += lines.Text() + "\n"
	}
	if !strings.Contains(told, "Ready") || !strings.Contains(told, "event: end") {
		t.Errorf("the stream has told %v:\n%s", lines.Err(), told)
	}
	for i, v := range w.Jobs.Wait(ids...) {
		text := w.says(links[i], "Ready", "Download", "<dt>Rows</dt><dd>1</dd>", "Checksum")
		if strings.Contains(text, "http-equiv") || strings.Contains(text, "data-live") || strings.Contains(text, v.File) {
			t.Errorf("a page that does not change any more:\n%s", text)
		}
		code, file, header := w.get(links[i] + "/file")
		if code != http.StatusOK || file != w.Files.Content(v) || file != "k,a,b\r\n1,a,b\r\n" {
			t.Errorf("%d %q", code, file)
		}
		for name, want := range map[string]string{"Content-Disposition": "attachment; filename=weekly-" + v.ID + ".csv", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Length": "14"} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	// Later, the file and the record are deleted.
	w.Records.Exec("UPDATE file_download_record SET file = REPLACE(file, 'weekly', 'gone') WHERE id = ?", ids[1])
	w.Eventually("the file is gone", func() bool {
		code, text, _ := w.get(links[1] + "/file")
		return code == http.StatusGone && strings.Contains(text, "no longer exists") && strings.Contains(text, `href="../-/style.css"`)
	})
	w.Records.Exec("DELETE FROM file_download_record WHERE id = ?", ids[2])
	w.says(links[2], "No longer available")
}

// TestWaitingPageOfAFailure: the page says plainly that a job failed or is incomplete, and does not
// say why.
func TestWaitingPageOfAFailure(t *testing.T) {
	t.Parallel()
	w := newWaiter(t, `
  broken: {retry: {retries: 0}, listeners: {broken: {database: db, query: "SELECT k FROM secret_table"}}}
  halved:
    retry: {retries: 0}
    listeners: {
      first: {database: db, query: "SELECT 1 AS k"},
      plt.user_tags: {database: db, query: "SELECT k, tag FROM secret_table", columns: [k, tag], optional: true}}
    join: {key: k, listeners: [first, {name: plt.user_tags, type: left}]}
    file: {columns: [k, tag]}`)
	w.serve()
	failed, halved, cancelled := w.Records.Insert("broken", ""), w.Records.Insert("halved", ""), w.Records.Insert("broken", "")
	w.Jobs.Push(failed, halved)
	if out, code := w.fanfold("cancel", cancelled, "--reason", "by somebody"); code != exitOK {
		t.Fatal(out)
	}
	w.Jobs.Wait(failed, halved)
	for link, words := range map[string][]string{
		w.link(failed):    {"could not be made", "give support this number: <strong>" + failed},
		w.link(halved):    {"not complete", "The file was created without: user tags.", "Download"},
		w.link(cancelled): {"Cancelled"},
	} {
		text := w.says(link, words...)
		for _, not := range []string{"secret_table", "by somebody", "Error", "1146"} {
			if strings.Contains(text, not) {
				t.Errorf("the page has %q:\n%s", not, text)
			}
		}
	}
}

// TestCancelOnTheWaitingPage: the person can cancel a report, after a confirmation, from this site only, and if the
// configuration allows it.
func TestCancelOnTheWaitingPage(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", "cancel: true, read_only: true", "cancel: true"} {
		base := "http://" + e2e.Address(t)
		s := newStack(t, e2e.Slow, `http: {url: "`+base+`", link_secret: "`+strings.Repeat("k", 32)+`", `+more+`}`)
		w := waiter{s, base}
		post := func(link, site string) int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link+"/cancel", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Sec-Fetch-Site", site)
			answer, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			return answer.StatusCode
		}
		w.serve()
		id := w.Records.Insert("slow", "")
		link := w.link(id)
		text := w.says(link, "Waiting to start")
		if more != "cancel: true" {
			if code, _, _ := w.get(link + "/cancel"); code != http.StatusNotFound || post(link, "same-origin") == http.StatusSeeOther || strings.Contains(text, "/cancel") {
				t.Errorf("%s: %d\n%s", more, code, text)
			}
			continue
		}
		w.says(link+"/cancel?lang=de", "Diesen Bericht abbrechen?", `<form method="post">`, `href="../`+link[len(base+"/r/"):]+`?lang=de"`)
		if code := post(link, "cross-site"); code != http.StatusForbidden {
			t.Errorf("from another site: %d", code)
		}
		if code := post(link[:len(link)-2], "same-origin"); code != http.StatusNotFound {
			t.Errorf("a forged link: %d", code)
		}
		w.says(link, "Waiting to start")
		for range 2 { // the second changes nothing
			if code := post(link, "same-origin"); code != http.StatusSeeOther {
				t.Errorf("%d", code)
			}
			if text := w.says(link, "This report was cancelled."); strings.Contains(text, "/cancel") {
				t.Errorf("it can be cancelled again:\n%s", text)
			}
		}
		if code, _, header := w.get(link + "/cancel"); code != http.StatusSeeOther {
			t.Errorf("nothing to confirm: %d %v", code, header)
		}
	}
}

// TestWaitingPageShowsPastExports: the page shows past exports of the same person and of no other.
func TestWaitingPageShowsPastExports(t *testing.T) {
	t.Parallel()
	base := "http://" + e2e.Address(t)
	s := newStack(t, `
  slow:
    listeners: {one: {database: db, query: "SELECT 1 AS k"}}`, `http: {url: "`+base+`", link_secret: "`+strings.Repeat("k", 32)+`"}`)
	w := waiter{s, base}
	w.serve()
	var links, ids []string
	for _, owner := range []any{"ann", "ben", "ann", nil} {
		id := w.Records.Insert("slow", "")
		w.Records.Exec("UPDATE file_download_record SET owner = ? WHERE id = ?", owner, id)
		ids, links = append(ids, id), append(links, w.link(id))
	}
	w.Jobs.Push(ids...)
	w.Jobs.Wait(ids...)
	text := w.says(links[2], "Ready", "Your past exports")
	other := regexp.MustCompile(`<a class="name" href="([\w-]+)">slow</a>`).FindAllStringSubmatch(text, -1)
	if len(other) != 1 {
		t.Fatalf("%d past exports of ann:\n%s", len(other), text)
	}
	if code, file, header := w.get(w.base + "/r/" + other[0][1] + "/file"); code != http.StatusOK || !strings.HasSuffix(header.Get("Content-Disposition"), "slow-"+ids[0]+".csv") {
		t.Errorf("%d %s %v", code, file, header)
	}
	for _, link := range []string{links[1], links[3]} {
		if text := w.says(link, "Ready"); strings.Contains(text, "past exports") {
			t.Errorf("one who has none:\n%s", text)
		}
	}
}

// TestURLOfAPage: url --page needs http.link_secret, http.url and a record.
func TestURLOfAPage(t *testing.T) {
	t.Parallel()
	w := newWaiter(t, e2e.Slow)
	id := w.Records.Insert("slow", "")
	out, code := w.fanfold("url", "--page", id, "--expires", "90d", "-o", "json")
	var l place
	if err := json.Unmarshal([]byte(out), &l); err != nil || code != exitOK || l.ID != id || l.Expires == nil || !strings.HasPrefix(l.URL, w.base+"/r/") {
		t.Errorf("%d %v %s", code, err, out)
	}
	bare, keyed := w.Write("bare.yaml", e2e.Slow), w.Write("keyed.yaml", e2e.Slow, `http: {link_secret: "`+strings.Repeat("k", 32)+`"}`)
	for _, c := range []struct {
		code int
		args []string
		text string
	}{
		{exitNotFound, []string{"99999"}, "99999"},
		{exitUsage, []string{id, "--expires", "91d"}, "is not between 1s and 2160h"},
		{exitUsage, []string{id, "-c", bare}, "http.link_secret: not set"},
		{exitUsage, []string{id, "-c", keyed}, "http.url: not set"},
	} {
		if out, code := w.fanfold(append([]string{"url", "--page"}, c.args...)...); code != c.code || !strings.Contains(out, c.text) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s", c.args, code, c.code, c.text, out)
		}
	}
}
