package process

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/record"
)

// TestIntruders: who has no right to a record gets the same answer as for one that does not exist.
func TestIntruders(t *testing.T) {
	t.Parallel()
	token, digest := access.NewToken()
	p := open(t, fmt.Sprintf(`http:
  users_file: %q
  tokens: "shop:%s"
  groups:
    oncall: {users: [oncall], may: [see, download, order, operate]}
    own: {users: [ann, ben], reports: [slow], may: [see, order, download], own: true}
    shop: {tokens: [shop], reports: [slow], may: [see, order, download], own: true}
    acme: {users: [cid], may: [see, operate, order], tenant: acme}
    viewers: {users: [viewer], may: [see]}`, usersFile(t, "oncall", "ann", "ben", "cid", "viewer"), digest))
	nobody := browse(t, p)
	as := func(name string) browser { return nobody.as(name, name+"-password") }
	ids := map[string]string{}
	if _, err := p.Rows.ExecContext(t.Context(), "ALTER TABLE file_download_record AUTO_INCREMENT = 1001"); err != nil {
		t.Fatal(err)
	}
	for _, of := range []record.Request{{Owner: "ann"}, {Owner: "ben"}, {Owner: "shop"}, {Owner: "zoe", Tenant: "acme"}, {Owner: "cid", Tenant: "other"}} {
		of.Report, of.Parameters = "slow", []byte("{}")
		id, err := p.Records.Insert(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		ids[of.Owner] = id
	}
	if _, err := p.Rows.ExecContext(t.Context(), "UPDATE file_download_record SET status = 'SUCCESS', file = 'file:///x/slow/1-1.csv' WHERE owner = 'ann'"); err != nil {
		t.Fatal(err)
	}
	const none = "4711"
	service := nobody
	service.token = token
	for who, c := range map[string]struct {
		by     browser
		sees   []string
		hidden []string
	}{
		"own records":    {as("ann"), []string{"ann"}, []string{"ben", "shop", "zoe", "cid"}},
		"of the service": {service, []string{"shop"}, []string{"ann", "ben", "zoe", "cid"}},
		"of the tenant":  {as("cid"), []string{"zoe"}, []string{"ann", "ben", "shop", "cid"}},
		"everyone's":     {as("viewer"), []string{"ann", "ben", "shop", "zoe", "cid"}, nil},
	} {
		for _, owner := range c.sees {
			if code, text, _ := c.by.ask("GET", "/api/v1/jobs/"+ids[owner]); code != http.StatusOK || !strings.Contains(text, owner) {
				t.Errorf("%s: %s: %d %s", who, owner, code, text)
			}
		}
		for _, path := range []string{"/api/v1/jobs/%s", "/api/v1/jobs/%s/events", "/api/v1/jobs/%s/file", "/jobs/%s"} {
			if strings.HasPrefix(path, "/jobs") && c.by.token != "" {
				continue
			}
			code, nothing, _ := c.by.ask("GET", fmt.Sprintf(path, none))
			for _, owner := range c.hidden {
				id := ids[owner]
				got, text, _ := c.by.ask("GET", fmt.Sprintf(path, id))
				if same := strings.ReplaceAll(text, id, none); got != http.StatusNotFound || got != code || same != nothing {
					t.Errorf("%s: %s of %s: %d %s, and of none %d %s", who, path, owner, got, text, code, nothing)
				}
			}
		}
		for _, owner := range c.hidden {
			for _, change := range []string{"cancel", "retry"} {
				if code, text, _ := c.by.ask("POST", "/api/v1/jobs/"+ids[owner]+"/"+change); code != http.StatusNotFound {
					t.Errorf("%s: %s of %s: %d %s", who, change, owner, code, text)
				}
			}
		}
	}
	if code, text, _ := service.ask("GET", "/jobs/"+ids["shop"]); code != http.StatusUnauthorized {
		t.Errorf("a page with a token: %d %s", code, text)
	}
	if code, text, _ := as("viewer").ask("GET", "/api/v1/jobs/"+ids["ann"]+"/file"); code != http.StatusForbidden {
		t.Errorf("a viewer's download: %d %s", code, text)
	}
	if _, text, _ := as("viewer").ask("GET", "/jobs/"+ids["ann"]); strings.Contains(text, "Download") {
		t.Errorf("a viewer sees a link to download: %s", text)
	}
	if _, text, _ := as("oncall").ask("GET", "/jobs/"+ids["ann"]); !strings.Contains(text, "Download") {
		t.Errorf("no link to download: %s", text)
	}
	if code, _, _ := as("viewer").ask("GET", "/quarantine"); code != http.StatusForbidden {
		t.Errorf("a viewer sees rows of quarantined entries: %d", code)
	}
	for _, change := range []string{"cancel", "retry"} {
		if code, text, _ := as("ann").ask("POST", "/api/v1/jobs/"+ids["ann"]+"/"+change); code != http.StatusForbidden {
			t.Errorf("%s without the right: %d %s", change, code, text)
		}
		if code, text, _ := as("ann").ask("POST", "/jobs/"+ids["ann"]+"/"+change); code != http.StatusForbidden {
			t.Errorf("%s without the right, on a page: %d %s", change, code, text)
		}
		if code, text, _ := as("cid").ask("POST", "/jobs/"+ids["ann"]+"/"+change); code != http.StatusNotFound {
			t.Errorf("%s of another tenant's job: %d %s", change, code, text)
		}
	}
	// Pages about everybody are for those who see everything.
	for _, page := range []string{"/jobs", "/dead", "/quarantine", "/listeners", "/due", "/search?q=" + ids["ben"], "/audit"} {
		if code, text, _ := as("ann").ask("GET", page); code != http.StatusForbidden || strings.Contains(text, ids["ben"]+"<") {
			t.Errorf("%s: %d %s", page, code, text)
		}
	}
	if code, _, header := as("ann").ask("GET", "/"); code != http.StatusSeeOther || header.Get("Location") != "/records" {
		t.Errorf("the first page: %d %v", code, header)
	}
	code, text, _ := as("ann").ask("GET", "/records?since=any+time")
	if link := `href="/jobs/%s"`; code != http.StatusOK || !strings.Contains(text, fmt.Sprintf(link, ids["ann"])) || strings.Contains(text, fmt.Sprintf(link, ids["ben"])) {
		t.Errorf("ann's records: %d %s", code, text)
	}
	if _, text, _ := as("ann").ask("GET", "/records?id="+ids["ben"]); strings.Contains(text, "/jobs/"+ids["ben"]) {
		t.Errorf("ben's record by its id: %s", text)
	}
	if _, text, _ := as("ann").ask("GET", "/api/v1/reports"); !strings.Contains(text, `"slow"`) || strings.Count(text, `"parameters"`) != 1 {
		t.Errorf("ann's reports: %s", text)
	}
}

// TestKeysOfOthers: the Idempotency-Key of somebody else tells nothing.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	p := open(t, fmt.Sprintf(`http:
  users_file: %q
  url: "http://reports.example.com"
  link_secret: "0123456789abcdef0123456789abcdef"
  groups:
    own: {users: [ann, ben], reports: [slow], may: [see, order], own: true}
    all: {users: [cid, zoe], may: [order]}`, usersFile(t, "ann", "ben", "cid", "zoe")))
	nobody := browse(t, p)
	ids := map[string]bool{}
	for _, name := range []string{"ann", "ben", "ann", "cid", "zoe"} {
		b := nobody.as(name, name+"-password")
		r, err := http.NewRequestWithContext(t.Context(), "POST", b.base+"/api/v1/reports/slow/jobs", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "the same")
		r.Header.Set("Content-Type", "application/json")
		code, text, header := b.do(r)
		if code != http.StatusCreated {
			t.Fatalf("%s: %d %s", name, code, text)
		}
		if strings.Contains(text, `"page"`) {
			t.Errorf("%s may not download, and gets a link to the file: %s", name, text)
		}
		if again := header.Get("Idempotency-Replayed") != ""; again != ids[header.Get("Location")] {
			t.Errorf("%s: %s, replayed: %v", name, header.Get("Location"), again)
		}
		ids[header.Get("Location")] = true
	}
	if len(ids) != 4 {
		t.Errorf("%v", ids)
	}
	var owners int
	row := p.Rows.QueryRowContext(t.Context(), "SELECT COUNT(DISTINCT owner) FROM file_download_record")
	if err := row.Scan(&owners); err != nil || owners != 2 {
		t.Errorf("%d owners, %v", owners, err)
	}
}

// stream opens a stream, which the test closes after a minute. code is that of the answer.
func (b browser) stream(path string, headers ...string) (code int, lines *bufio.Scanner) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	b.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	if b.name != "" {
		r.SetBasicAuth(b.name, b.password)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.StatusCode, bufio.NewScanner(answer.Body)
}

// TestStreamOfALostRecord: who follows a record loses it with its owner, but hears that it was deleted.
func TestStreamOfALostRecord(t *testing.T) {
	t.Parallel()
	p := open(t, fmt.Sprintf(`http:
  users_file: %q
  groups: {own: {users: [ann, ben], may: [see], own: true}}`, usersFile(t, "ann", "ben")))
	ann := browse(t, p).as("ann", "ann-password")
	for change, want := range map[string]string{
		"UPDATE file_download_record SET owner = 'ben' WHERE id = ?": "event: problem",
		"DELETE FROM file_download_record WHERE id = ?":              "event: end",
	} {
		id, err := p.Records.Insert(t.Context(), record.Request{Report: "slow", Parameters: []byte("{}"), Owner: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		_, lines := ann.stream("/api/v1/jobs/" + id + "/events")
		if !lines.Scan() || lines.Text() != "event: job" {
			t.Fatalf("%s: %q %v", change, lines.Text(), lines.Err())
		}
		if _, err := p.Rows.ExecContext(t.Context(), change, id); err != nil {
			t.Fatal(err)
		}
		var rest []string
		for lines.Scan() {
			rest = append(rest, lines.Text())
		}
		if text := strings.Join(rest, "\n"); lines.Err() != nil || !strings.Contains(text, want) || strings.Contains(text, "ben") {
			t.Errorf("%s: %s %v", change, text, lines.Err())
		}
	}
}

// TestStreamsOfOneUser: one user cannot use all streams.
func TestStreamsOfOneUser(t *testing.T) {
	t.Parallel()
	p := open(t, fmt.Sprintf("http: {users_file: %q}", usersFile(t, "ann", "ben")))
	id, err := p.Records.Insert(t.Context(), record.Request{Report: "slow", Parameters: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	ann := browse(t, p).as("ann", "ann-password")
	for path, max := range map[string]int{"/live": 200, "/api/v1/jobs/" + id + "/events": 64} {
		n, code := 0, http.StatusOK
		for ; code == http.StatusOK && n < max; n++ {
			code, _ = ann.stream(path)
		}
		if code != http.StatusServiceUnavailable || n < 3 {
			t.Errorf("%s: after %d streams: %d", path, n, code)
		}
		if code, _ := ann.as("ben", "ben-password").stream(path); code != http.StatusOK {
			t.Errorf("%s: %d, because another user has %d streams", path, code, n)
		}
	}
}

// TestNothingOfOthers: who sees only own records learns neither ids of others nor what servers say, and only operators
// learn who has made a change.
func TestNothingOfOthers(t *testing.T) {
	t.Parallel()
	p := open(t, fmt.Sprintf(`http:
  users_file: %q
  groups:
    oncall: {users: [oncall], may: [see, operate]}
    own: {users: [ann], may: [see, download], own: true}
    viewers: {users: [viewer], may: [see, download]}`, usersFile(t, "oncall", "ann", "viewer")))
	nobody := browse(t, p)
	as := func(name string) browser { return nobody.as(name, name+"-password") }
	ids := map[string]string{}
	for _, status := range []string{"SUCCESS", "PENDING", "cancelled"} {
		id, err := p.Records.Insert(t.Context(), record.Request{Report: "slow", Parameters: []byte("{}"), Owner: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		ids[status] = id
	}
	const path = "file:///x/slow/4711-1.csv"
	if _, err := p.Rows.ExecContext(t.Context(), "UPDATE file_download_record SET status = 'SUCCESS', file = ? WHERE id = ?", path, ids["SUCCESS"]); err != nil {
		t.Fatal(err)
	}
	if code, text, _ := as("oncall").ask("POST", "/jobs/"+ids["cancelled"]+"/cancel", "reason", "not needed"); code != http.StatusSeeOther {
		t.Fatalf("%d %s", code, text)
	}
	check := func(page string, sees map[string]bool, secrets ...string) {
		t.Helper()
		for name, all := range sees {
			code, text, _ := as(name).ask("GET", page)
			for _, secret := range secrets {
				if strings.Contains(text, secret) != all {
					t.Errorf("%s: %s: %q: %v: %d %s", name, page, secret, !all, code, text)
				}
			}
		}
	}
	scoped := map[string]bool{"ann": false, "viewer": true}
	shared := "/jobs/" + ids["SUCCESS"]
	check("/api/v1"+shared, scoped, path, `"shared_with":"4711"`)
	check("/api/v1"+shared+"/events", scoped, path, `"shared_with":"4711"`)
	check("/api/v1"+shared+"/file", scoped, "4711")
	check(shared, scoped, path, `"/jobs/4711"`)
	check("/records", scoped, path)
	check("/reports", scoped, `href="/reports/slow"`) // the page refuses who does not see all records
	check("/jobs/"+ids["PENDING"], scoped, "was not pushed", "See for yourself", "fanfold submit")
	check("/jobs/"+ids["cancelled"], map[string]bool{"ann": false, "viewer": false, "oncall": true}, `"Who">oncall`)
	check("/jobs/"+ids["cancelled"], map[string]bool{"ann": true, "viewer": true}, "cancelled in the dashboard: not needed")
	for _, page := range []string{"/records", "/jobs/" + ids["cancelled"], "/api/v1/jobs/" + ids["cancelled"]} {
		_, text, _ := as("viewer").ask("GET", page)
		if strings.Contains(text, "oncall") {
			t.Errorf("%s says who cancelled: %s", page, text)
		}
	}
	if _, err := p.Rows.ExecContext(t.Context(), "DROP TABLE file_download_record"); err != nil {
		t.Fatal(err)
	}
	check("/records", scoped, "file_download_record")
	if code, text, _ := as("ann").ask("GET", "/records"); code != http.StatusBadGateway || !strings.Contains(text, "A server does not answer.") {
		t.Errorf("%d %s", code, text)
	}
}

// TestPageOfOtherReports: a link that lists a person's exports of other reports is for who may download them, too.
func TestPageOfOtherReports(t *testing.T) {
	t.Parallel()
	p := open(t, strings.Replace(orderReports, "language: en}", fmt.Sprintf(`users_file: %q, groups: {
  one: {users: [ann], may: [order, download], reports: [slow], own: true},
  all: {users: [ben], may: [order, download], own: true}}}`, usersFile(t, "ann", "ben")), 1))
	nobody := browse(t, p)
	for name, want := range map[string]bool{"ann": false, "ben": true} {
		code, text, _ := nobody.as(name, name+"-password").ask("POST", "/api/v1/reports/slow/jobs")
		if code != http.StatusCreated || strings.Contains(text, `"page":"https://reports.example.com/r/`) != want {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
}
