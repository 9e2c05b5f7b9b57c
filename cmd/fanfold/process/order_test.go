package process

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/order"
)

// orderReports are reports to order, and the configuration of links.
const orderReports = `
  sales:
    label: Sales of my shop
    description: "Every sale, <b>newest</b> first"
    parameters:
      from: {type: date, default: today-7d, description: First day}
      size: {type: integer, minimum: "1", maximum: "100"}
      kinds: {list: true, options: [food, "<i>toys</i>"], default: [food]}
      paid: {type: boolean, default: null}
      codes: {list: true, pattern: "[A-Z]+", default: null}
      at: {type: datetime, default: null}
    listeners: {one: {database: db, query: "SELECT :from AS f, :size AS s, :paid AS p, :at AS a FROM dual WHERE 1 IN (:kinds) OR 1 IN (:codes)"}}
http: {url: "https://reports.example.com", link_secret: "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
  frame_ancestors: ["https://admin.example.com"], cors: ["https://admin.example.com"], language: en}
`

// orderPath returns the path of the page to order from.
func orderPath(t *testing.T, p *Process, pass order.Pass) string {
	t.Helper()
	if pass.Expires.IsZero() {
		pass.Expires = time.Now().Add(time.Hour)
	}
	url, err := OrderURL(t.Context(), p, pass)
	path, ok := strings.CutPrefix(url, "https://reports.example.com")
	if !ok {
		t.Fatal(url, err)
	}
	return path
}

// keyOf returns the key of a form.
func keyOf(t *testing.T, text string) string {
	t.Helper()
	key := regexp.MustCompile(`name="key" value="([A-Z0-9]{26})"`).FindStringSubmatch(text)
	if key == nil {
		t.Fatalf("no key in %s", text)
	}
	return key[1]
}

// rowsOf returns the rows of a table as texts.
func rowsOf(t *testing.T, p *Process, query string, args ...any) (all []string) {
	t.Helper()
	rows, err := p.Rows.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOrder: a person without a login finds a report, corrects the form, orders once however often it is sent, and
// finds the record in the list.
func TestOrder(t *testing.T) {
	t.Parallel()
	p := open(t, orderReports)
	b := browse(t, p)
	page := orderPath(t, p, order.Pass{Person: "ann", Tenant: "acme"})
	code, text, header := b.ask("GET", page)
	if code != 200 || !strings.Contains(text, "Sales of my shop") || !strings.Contains(text, "slow") || !strings.Contains(text, "You have not ordered anything") {
		t.Fatalf("%d %s", code, text)
	}
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex", "Cache-Control": "no-store"} {
		if !strings.Contains(header.Get(name), want) {
			t.Errorf("%s: %q", name, header.Get(name))
		}
	}
	form := page + "/reports/sales"
	_, text, _ = b.ask("GET", form)
	week := time.Now().UTC().AddDate(0, 0, -7).Format(time.DateOnly)
	for _, want := range []string{
		`type="date" autocomplete="off" value="` + week + `"`, "today-7d is " + week, "(required)", `value="food" checked`,
		`<textarea id="p-codes"`, `type="datetime-local" step="1"`, `<option value="true">yes</option>`, "The largest is 100.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the form has no %s:\n%s", want, text)
		}
	}
	// What was typed stays, and what is wrong is beside it.
	typed := []string{"key", keyOf(t, text), "p.from", "2024-06-01", "p.size", "101", "p.kinds", "food", "p.kinds", "<i>toys</i>",
		"p.codes", "AB\r\ncd", "p.at", "2024-06-01T09:30", "p.paid", "true"}
	code, text, _ = b.ask("POST", form, typed...)
	for _, want := range []string{"Nothing was ordered.", `value="101" required aria-invalid="true"`, "The value of size cannot be used.",
		"AB\ncd</textarea>", `value="&lt;i&gt;toys&lt;/i&gt;" checked`, `value="2024-06-01"`, "The value of codes", `value="true" selected`,
		`value="2024-06-01T09:30:00"`} {
		if code != 422 || !strings.Contains(text, want) {
			t.Errorf("%d, and no %s:\n%s", code, want, text)
		}
	}
	typed[1], typed[5], typed[11] = keyOf(t, text), "100", "AB\r\nCD"
	code, text, header = b.ask("POST", form, typed...)
	to := header.Get("Location")
	if code != 303 || !strings.HasPrefix(to, "../../../r/") {
		t.Fatalf("%d %s %s", code, to, text)
	}
	// A double click, and a reload.
	for range 2 {
		if code, _, _ := b.ask("POST", form, typed...); code != 303 {
			t.Errorf("again: %d", code)
		}
	}
	got := rowsOf(t, p, "SELECT CONCAT_WS(' ', report, owner, tenant, status, parameters) FROM file_download_record")
	if want := `sales ann acme PENDING {"at":"2024-06-01 09:30:00","codes":["AB","CD"],"from":"2024-06-01",` +
		`"kinds":["food","<i>toys</i>"],"paid":true,"size":100}`; len(got) != 1 || got[0] != want {
		t.Errorf("the records %q", got)
	}
	// Other values are another order, with the same key, too: a browser that goes back sends it.
	typed[5] = "99"
	if code, _, _ := b.ask("POST", form, typed...); code != 303 {
		t.Errorf("other values: %d", code)
	}
	if n := len(rowsOf(t, p, "SELECT id FROM file_download_record")); n != 2 {
		t.Errorf("%d records", n)
	}
	if code, text, _ := b.ask("GET", strings.TrimPrefix(to, "../../..")); code != 200 || !strings.Contains(text, "Waiting to start") || !strings.Contains(text, `href="../o/`) {
		t.Errorf("the waiting page: %d %s", code, text)
	}
	eventually(t, "the record is in the list", func() bool {
		_, text, _ := b.ask("GET", page)
		return strings.Contains(text, "Waiting to start") && strings.Contains(text, "?from=1") && strings.Contains(text, "data-live")
	})
	if _, text, _ := b.ask("GET", form+"?from=1"); !strings.Contains(text, `value="100"`) || !strings.Contains(text, "AB\nCD</textarea>") {
		t.Errorf("order again: %s", text)
	}
	first := p.Partitions.First()
	acts, err := first.Entries.First(t.Context(), first.Keys.Audit, 10)
	if err != nil || len(acts) == 0 || acts[0].Fields["who"] != "ann" || acts[0].Fields["by"] != "link" {
		t.Errorf("the audit %v %v", acts, err)
	}
	if _, text, _ := b.ask("GET", form+"?lang=de"); !strings.Contains(text, "erforderlich") || !strings.Contains(text, `<html lang="de"`) {
		t.Errorf("in German: %s", text)
	}
}

// intruder has a link of eve of the tenant evil, and the record 1 of ann of acme has the same report.
func intruder(t *testing.T) (p *Process, b browser, eve, ann string) {
	t.Helper()
	p = open(t, orderReports)
	if _, err := p.Rows.ExecContext(t.Context(), `INSERT INTO file_download_record (report, status, file, owner, tenant, parameters)
		VALUES ('sales', 'SUCCESS', 'file:///x/sales/1-1-aaaaaa.csv', 'ann', 'acme', '{"size": 42, "codes": ["SECRET"]}')`); err != nil {
		t.Fatal(err)
	}
	return p, browse(t, p), orderPath(t, p, order.Pass{Person: "eve", Tenant: "evil"}), orderPath(t, p, order.Pass{Person: "ann", Tenant: "acme"})
}

// TestOrdersAreBounded: a person with 20 exports that have not ended orders no more, and a double click of the last
// order leads to its page.
func TestOrdersAreBounded(t *testing.T) {
	t.Parallel()
	p := open(t, orderReports)
	if _, err := p.Rows.ExecContext(t.Context(), `INSERT INTO file_download_record (report, owner, tenant, status)
		SELECT 'sales', 'ann', 'acme', CASE WHEN seq = 7 THEN 'FAILED' ELSE 'PENDING' END FROM seq_1_to_20`); err != nil {
		t.Fatal(err)
	}
	b := browse(t, p)
	page := orderPath(t, p, order.Pass{Person: "ann", Tenant: "acme"})
	form := page + "/reports/sales"
	_, text, _ := b.ask("GET", form)
	key := keyOf(t, text)
	send := func(form, key string, want int) {
		t.Helper()
		code, text, header := b.ask("POST", form, "key", key, "p.size", "50", "p.from", "", "p.kinds", "", "p.codes", "", "p.at", "", "p.paid", "")
		if code != want || code == 303 && !strings.HasPrefix(header.Get("Location"), "../../../r/") ||
			code == 429 && (!strings.Contains(text, "20 of your exports have not ended") || !strings.Contains(text, `value="50"`)) {
			t.Errorf("%d %s", code, text)
		}
	}
	send(form, key, 303) // the 20th
	send(form, key, 303) // a double click
	send(form, "AAAAAAAAAAAAAAAAAAAAAAAAAA", 429)
	if n := len(rowsOf(t, p, "SELECT id FROM file_download_record")); n != 21 {
		t.Errorf("%d records", n)
	}
	first := p.Partitions.First()
	acts, err := first.Entries.First(t.Context(), first.Keys.Audit, 10)
	if err != nil || len(acts) != 2 || acts[0].Fields["answer"] != "done" || acts[1].Fields["answer"] != "refused" {
		t.Errorf("the audit %v %v", acts, err)
	}
	send(orderPath(t, p, order.Pass{Person: "ann", Tenant: "other"})+"/reports/sales", key, 303)
	if _, err := p.Rows.ExecContext(t.Context(), "UPDATE file_download_record SET status = 'CANCELLED' WHERE id = 3"); err != nil {
		t.Fatal(err)
	}
	send(form, "AAAAAAAAAAAAAAAAAAAAAAAAAA", 303)
	send(form, "BBBBBBBBBBBBBBBBBBBBBBBBBB", 429)
}

// TestOrderOfAnotherPerson: neither the list nor "order again", a link or a download shows a record of another person, of
// the same name in another tenant, or of a name that the database takes for the same.
func TestOrderOfAnotherPerson(t *testing.T) {
	t.Parallel()
	p, b, eve, ann := intruder(t)
	paths := []string{eve}
	for _, pass := range []order.Pass{{Person: "ann", Tenant: "evil"}, {Person: "ann"}, {Person: "Ann", Tenant: "acme"}, {Person: "ann", Tenant: "ACME"}, {Person: "ann ", Tenant: "acme"}} {
		paths = append(paths, orderPath(t, p, pass))
	}
	for _, path := range paths {
		if code, text, _ := b.ask("GET", path); code != 200 || !strings.Contains(text, "not ordered anything") {
			t.Errorf("the list: %d %s", code, text)
		}
		for _, more := range []string{"/reports/sales?from=1", "/exports/1", "/exports/1/file", "/exports/999", "/exports/..%2f1", "/reports/sales?from=1%00"} {
			code, text, header := b.ask("GET", path+more)
			if code != 404 || header.Get("Location") != "" || strings.Contains(text, "SECRET") || strings.Contains(text, "42") && !strings.Contains(path, "42") {
				t.Errorf("%s: %d %v %s", more, code, header, text)
			}
		}
	}
	// The owner sees all of it.
	if _, text, _ := b.ask("GET", ann+"/reports/sales?from=1"); !strings.Contains(text, "SECRET") {
		t.Error(text)
	}
	for _, more := range []string{"", "/file"} {
		if code, _, header := b.ask("GET", ann+"/exports/1"+more); code != 303 || !strings.Contains(header.Get("Location"), more+"?order=") {
			t.Errorf("the owner: %d %s", code, header.Get("Location"))
		}
	}
	// A link for one report does not repeat the record of another.
	only := orderPath(t, p, order.Pass{Person: "ann", Tenant: "acme", Reports: []string{"slow"}})
	if code, _, _ := b.ask("GET", only+"/reports/slow?from=1"); code != 404 {
		t.Errorf("of another report: %d", code)
	}
}

// TestOrderTokens: a token opens only the pages for which it was made, here, unchanged, and until it expires.
func TestOrderTokens(t *testing.T) {
	t.Parallel()
	p, b, _, ann := intruder(t)
	page, err := p.PageURL(t.Context(), "1", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimPrefix(ann, "/o/")
	schema := rowsOf(t, p, "SELECT DATABASE()")[0]
	foreign := orderPath(t, openOn(t, schema, testmain.Name(t)+"-other", orderReports), order.Pass{Person: "ann", Tenant: "acme"})
	for _, path := range []string{
		"/r/" + token, "/r/" + token + "/file", "/o/" + page[strings.LastIndex(page, "/")+1:], foreign, ann[:len(ann)-1], ann + "A", "/o/", "/o/1", "/o/-/page.html",
		"/o/" + strings.Repeat("A", 9000), "/o/" + token[1:] + token[:1] + "/exports/1",
	} {
		code, text, _ := b.ask("GET", path)
		if code != http.StatusNotFound || strings.Contains(text, "Sales") {
			t.Errorf("%.90s: %d %s", path, code, text)
		}
	}
	old := orderPath(t, p, order.Pass{Person: "ann", Tenant: "acme", Expires: time.Now().Add(time.Second)})
	eventually(t, "the link has expired", func() bool { code, _, _ := b.ask("GET", old); return code == http.StatusGone })
	for _, more := range []string{"/live", "/exports/1", "/reports/sales"} {
		if code, _, _ := b.ask("GET", old+more); code != http.StatusGone {
			t.Errorf("%s: %d", more, code)
		}
	}
	b.posts(old+"/reports/sales", http.StatusGone, "expired", "p.size", "1")
	b.posts("/o/"+token[:len(token)-1]+"/reports/sales", http.StatusNotFound, "not valid", "p.size", "1")
	if n := len(rowsOf(t, p, "SELECT id FROM file_download_record")); n != 1 {
		t.Errorf("%d records", n)
	}
}

// TestOrderReplay: the key of a form that another person has sent neither shows nor blocks that person's record.
func TestOrderReplay(t *testing.T) {
	t.Parallel()
	p, b, eve, ann := intruder(t)
	where := map[string]string{}
	for name, page := range map[string]string{"eve": eve, "ann": ann} {
		code, text, header := b.ask("POST", page+"/reports/sales", "key", "THEKEYOFANN", "p.size", "7")
		if where[name] = header.Get("Location"); code != 303 {
			t.Fatalf("%d %s", code, text)
		}
	}
	got := rowsOf(t, p, "SELECT CONCAT(owner, ' ', tenant) FROM file_download_record WHERE id > 1")
	if slices.Sort(got); !slices.Equal(got, []string{"ann acme", "eve evil"}) {
		t.Errorf("the records are for %q", got)
	}
	if where["eve"] == where["ann"] {
		t.Error("both are led to one record")
	}
}

// TestOrderOfAnotherReport: a report that is not in the link is neither listed nor shown nor ordered.
func TestOrderOfAnotherReport(t *testing.T) {
	t.Parallel()
	p := open(t, orderReports)
	b := browse(t, p)
	page := orderPath(t, p, order.Pass{Person: "eve", Reports: []string{"slow"}})
	if _, text, _ := b.ask("GET", page); strings.Contains(text, "Sales") || !strings.Contains(text, "slow") {
		t.Errorf("the list: %s", text)
	}
	for _, name := range []string{"sales", "nothing", "SLOW"} {
		b.posts(page+"/reports/"+name, http.StatusNotFound, "", "key", "K", "p.size", "1")
		if code, _, _ := b.ask("GET", page+"/reports/"+name); code != http.StatusNotFound {
			t.Errorf("%s: %d", name, code)
		}
	}
	if n := len(rowsOf(t, p, "SELECT id FROM file_download_record")); n != 0 {
		t.Errorf("%d records", n)
	}
	for want, pass := range map[string]order.Pass{
		"no report nothing": {Person: "eve", Reports: []string{"nothing"}}, "needs a person": {},
		"control characters": {Person: "eve\nlevel=INFO"}, "at most 200 bytes": {Person: strings.Repeat("e", 201)},
		"is valid for": {Person: "eve", Expires: time.Now().Add(91 * 24 * time.Hour)},
	} {
		if pass.Expires.IsZero() {
			pass.Expires = time.Now().Add(time.Hour)
		}
		if url, err := OrderURL(t.Context(), p, pass); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s %v", want, url, err)
		}
	}
}

// TestOrderHTML: what a person types and what the configuration says is text on every page.
func TestOrderHTML(t *testing.T) {
	t.Parallel()
	p := open(t, orderReports)
	b := browse(t, p)
	page := orderPath(t, p, order.Pass{Person: "<img src=x>"})
	const evil = `"><script>alert(1)</script>`
	_, catalogue, _ := b.ask("GET", page+"?q="+evil)
	_, wrong, _ := b.ask("POST", page+"/reports/sales", "key", evil, "p.size", evil, "p.from", evil, "p.codes", evil, "p.kinds", evil)
	for _, text := range []string{catalogue, wrong} {
		if strings.Contains(text, "<script>alert") || strings.Contains(text, "<b>newest") || strings.Contains(text, "<i>toys") || strings.Contains(text, "<img") {
			t.Errorf("it is not text: %s", text)
		}
	}
	if !strings.Contains(catalogue, html.EscapeString("<b>newest</b>")) || !strings.Contains(wrong, "&lt;script&gt;") {
		t.Error("it is not shown")
	}
}

// TestOwnOrders: who has logged in is led to the own link, which is that of nobody else.
func TestOwnOrders(t *testing.T) {
	t.Parallel()
	p := open(t, fmt.Sprintf(`http: {url: "https://reports.example.com/fanfold", users_file: %q,
  groups: {op: {users: [op], may: [order, download], own: true, tenant: acme, reports: [slow]}, all: {users: [all], may: [order, download], own: true},
    half: {users: [half], may: [order], own: true}, slow: {users: [half], may: [download], reports: [slow]}, readers: {users: [reader], may: [see, order]}},
  link_secret: "0123456789abcdef0123456789abcdef"}`, usersFile(t, "op", "all", "half", "reader")))
	nobody := browse(t, p)
	code, _, header := nobody.as("op", "op-password").ask("GET", "/fanfold/order")
	to := header.Get("Location")
	if code != 303 || !strings.HasPrefix(to, "/fanfold/o/") {
		t.Fatalf("%d %s", code, to)
	}
	if code, text, _ := nobody.ask("POST", to+"/reports/slow", "key", "K"); code != 303 {
		t.Errorf("%d %s", code, text)
	}
	if got := rowsOf(t, p, "SELECT CONCAT(owner, ' ', tenant) FROM file_download_record"); len(got) != 1 || got[0] != "op acme" {
		t.Errorf("the owners %q", got)
	}
	seal, err := newSealer(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	// The reports of a group are those of the link, even if there are no others yet.
	for user, want := range map[string]string{"op": "[slow]", "half": "[slow]", "all": "[]"} {
		_, _, header := nobody.as(user, user+"-password").ask("GET", "/fanfold/order")
		pass, err := order.NewSealer(seal).Open(strings.TrimPrefix(header.Get("Location"), "/fanfold/o/"), time.Now())
		if got := fmt.Sprint(pass.Reports); err != nil || got != want {
			t.Errorf("%s: the link is for %s: %v", user, got, err)
		}
	}
	for user, want := range map[browser]int{nobody: 401, nobody.as("reader", "reader-password"): 403} {
		if code, _, header := user.ask("GET", "/fanfold/order"); code != want || header.Get("Location") != "" {
			t.Errorf("%s: %d", user.name, code)
		}
	}
}

// TestOrderLinksOfAService: a service makes links for what it may order and download, and for nobody else.
func TestOrderLinksOfAService(t *testing.T) {
	t.Parallel()
	p := open(t, strings.Replace(orderReports, "language: en}", fmt.Sprintf(`users_file: %q, groups: {
  all: {users: [op], may: [order, operate, download]}, slow: {users: [slow], may: [order, download], reports: [slow], tenant: acme},
  orders: {users: [orders], may: [order]}, keeper: {users: [keeper], may: [operate, download]}, own: {users: [ann], may: [order, download], own: true}}}`, usersFile(t, "op", "slow", "orders", "keeper", "ann")), 1))
	b := browse(t, p)
	for _, c := range []struct {
		user, body string
		code       int
		reports    string // that the page of the link lists
	}{
		{"op", `{"person": "ann"}`, 201, "Sales of my shop slow"},
		{"op", `{"person": "ann", "reports": ["sales"]}`, 201, "Sales of my shop"},
		{"op", `{"person": "ann", "reports": ["nothing"]}`, 422, ""},
		{"slow", `{"person": "ann", "tenant": "acme"}`, 201, "slow"},
		{"slow", `{"person": "ann", "tenant": "acme", "reports": ["slow", "sales"]}`, 403, ""},
		{"slow", `{"person": "ann", "tenant": "evil"}`, 403, ""},
		{"slow", `{"person": "ann"}`, 403, ""},
		{"orders", `{"person": "ann"}`, 403, ""}, // it could download what ann has
		{"keeper", `{"person": "ann"}`, 403, ""}, // it may not order
		{"ann", `{"person": "ann"}`, 201, "Sales of my shop slow"},
		{"ann", `{"person": "eve"}`, 403, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", b.base+"/api/v1/order-links", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		code, text, _ := b.as(c.user, c.user+"-password").do(r)
		link := regexp.MustCompile(`https://reports.example.com(/o/[0-9A-Za-z_-]+)`).FindStringSubmatch(text)
		if code != c.code || (link != nil) != (code == 201) {
			t.Errorf("%s %s: %d %s", c.user, c.body, code, text)
			continue
		}
		if link == nil {
			continue
		}
		_, text, _ = b.ask("GET", link[1])
		var names []string
		for _, found := range regexp.MustCompile(`<a class="name"[^>]*>([^<]*)`).FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
		if got := strings.Join(names, " "); got != c.reports {
			t.Errorf("%s %s: the link is for %s", c.user, c.body, got)
		}
	}
	// A link for one report shows no record of another.
	if _, err := p.Rows.ExecContext(t.Context(), "INSERT INTO file_download_record (report, owner, tenant) VALUES ('slow', 'bob', 'acme')"); err != nil {
		t.Fatal(err)
	}
	page := orderPath(t, p, order.Pass{Person: "bob", Tenant: "acme", Reports: []string{"sales"}})
	if _, text, _ := b.ask("GET", page); strings.Contains(text, "slow") {
		t.Errorf("a record of another report: %s", text)
	}
	if code, _, _ := b.ask("GET", page+"/exports/1"); code != 404 {
		t.Errorf("a link to a record of another report: %d", code)
	}
}
