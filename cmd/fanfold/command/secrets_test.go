package command

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestNoSecretIsShown: no page, API answer, metric, command output or log has a secret, even if a
// database refuses a password, or an API or a notified service repeats what it received.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	const password, header, sealing, user = "p4ssw0rd-Zq7", "Bearer h3ader-Zq7", "s3aling-key-Zq7-s3aling-key-Zq7-s3aling", "l0gin-Zq7"
	signing := base64.StdEncoding.EncodeToString([]byte("s1gning-key-Zq7-s1gning-key-Zq7"))
	told := make(chan struct{}, 100)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told <- struct{}{}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "you sent %q", r.Header)
	}))
	t.Cleanup(echo.Close)
	var seen strings.Builder
	spans := newSpanStore(t)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		spans.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "you sent us %q", r.Header.Get("X-Token"))
	}))
	t.Cleanup(collector.Close)
	hash, err := bcrypt.GenerateFromPassword([]byte(user), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	server := testmain.SharedDatabase(t)
	s := newStack(t, fmt.Sprintf(`
  refused: {retry: {retries: 1, delay: 1s}, listeners: {one: {database: refusing, query: "SELECT 1 AS k"}}}
  repeated:
    retry: {retries: 0}
    notify: {url: "%s", secret: whsec_%s, retry: {retries: 0}}
    listeners: {two: {kind: http, api: vendor, result: {path: /x, rows: "$.rows"}, columns: {k: "$.k"}}}
`, echo.URL, signing), fmt.Sprintf(`limits: {shutdown_timeout: 1s}
databases: {db: {dsn: "{dsn}"}, refusing: {dsn: "nobody:%s@tcp(%s)/{schema}"}}
apis: {vendor: {url: "%s", headers: {Authorization: "%s"}}}
traces: {url: "%s", headers: {X-Token: "t0ken-Zq7"}}
http: {link_secret: %s, users: "oncall:%s", groups: {oncall: {users: [oncall], may: [see, download, order, operate]}, readers: {users: ["*"], may: [see, download]}}}`, password, server.Addr, echo.URL, header, collector.URL, sealing, hash))
	var log testmain.Log
	at := e2e.Address(t)
	s.ServeInto(&log, at)
	oncall := browser{s, "http://" + at, "oncall", user}
	s.Eventually("the dashboard answers", func() bool { code, _ := oncall.send("GET", "/"); return code == http.StatusOK })
	ids := []string{s.Records.Insert("refused", ""), s.Records.Insert("repeated", "")}
	s.Jobs.Push(ids...)
	s.Jobs.Wait(ids...)
	<-told
	<-told // the API, and the notification
	s.Eventually("the notification is given up", func() bool { return len(s.Jobs.Quarantined()) == 1 })
	s.Eventually("the collector has refused spans", func() bool {
		return len(log.Lines("you sent us")) > 0 && len(spans.named(ids[0], "job", "")) > 0 && len(spans.named(ids[1], "job", "")) > 0
	})
	for _, id := range ids {
		fmt.Fprintln(&seen, spans.of(id))
	}

	for _, path := range []string{"/", "/jobs", "/records", "/dead", "/listeners", "/due", "/reports", "/jobs/" + ids[0], "/jobs/" + ids[1], "/api/v1/jobs/" + ids[0], "/api/v1/jobs/" + ids[1], "/api/v1/reports", "/api/v1/openapi.json"} {
		code, text := oncall.send("GET", path)
		if code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
		seen.WriteString(text)
	}
	for _, command := range [][]string{{"status", ids[0], "-o", "json"}, {"why", ids[0]}, {"why", ids[1]}, {"list"}, {"dead", "ls"}, {"quarantine", "ls", "-o", "json"}, {"doctor"}, {"validate"}, {"config", "show"}, {"config", "show", "-o", "json"}} {
		out, _ := s.fanfold(command...)
		seen.WriteString(out)
	}
	seen.WriteString(strings.Join(log.Lines(""), "\n"))
	for _, key := range s.Redis.Keys(t.Context(), "*").Val() {
		dump, _ := s.Redis.Dump(t.Context(), key).Result()
		seen.WriteString(dump)
	}
	for _, secret := range []string{"Zq7", signing, string(hash)} {
		if before, after, found := strings.Cut(seen.String(), secret); found {
			t.Errorf("%q is shown: …%s%s%s…", secret, before[max(0, len(before)-300):], secret, after[:min(100, len(after))])
		}
	}
	if text := seen.String(); !strings.Contains(text, "Access denied") || !strings.Contains(text, "you sent") {
		t.Errorf("what servers said is not shown, so that nothing is proved: %s", text)
	}
}
