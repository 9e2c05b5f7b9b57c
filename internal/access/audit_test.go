package access

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
)

// TestForwardedAddress: an act is from the address that a trusted proxy has added. Others cannot forge it.
func TestForwardedAddress(t *testing.T) {
	t.Parallel()
	proxied := report.Site{TrustedHeader: report.TrustedHeader{Name: "X-User", Proxies: []string{"10.1.1.0/24"}}}
	for _, c := range []struct {
		site      report.Site
		from      string
		forwarded []string
		want      string
	}{
		{proxied, "10.1.1.9:1", []string{"192.0.2.7"}, "192.0.2.7"},
		{proxied, "10.1.1.9:1", []string{"203.0.113.1, 192.0.2.7"}, "192.0.2.7"},   // the client has sent the first one
		{proxied, "10.1.1.9:1", []string{"203.0.113.1", "192.0.2.7"}, "192.0.2.7"}, // in a header of its own
		{proxied, "10.1.1.9:1", []string{"192.0.2.7, 10.1.1.8"}, "192.0.2.7"},      // two proxies
		{proxied, "10.1.1.9:1", []string{"192.0.2.7, nonsense"}, "10.1.1.9"},       // not an address
		{proxied, "10.1.1.9:1", []string{"::ffff:192.0.2.7"}, "192.0.2.7"},
		{proxied, "10.1.1.9:1", nil, "10.1.1.9"},
		{proxied, "10.1.2.9:1", []string{"192.0.2.7"}, "10.1.2.9"}, // not the proxy
		{report.Site{}, "10.1.1.9:1", []string{"192.0.2.7"}, "10.1.1.9"},
	} {
		s, err := New(c.site, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{RemoteAddr: c.from, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := s.from(r); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestEveryRequestIsAnAct: a request to change something has an entry in the audit stream, also if it is refused
// before it becomes an act. If the handler has made an act, there is no second entry.
func TestEveryRequestIsAnAct(t *testing.T) {
	t.Parallel()
	s, err := New(report.Site{Users: report.Secret("ann:" + hash(t, "secret") + "\nreader:" + hash(t, "other")),
		Groups: []report.Group{{Users: []string{"ann"}, May: report.Rights}}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	s.Audit = func(_ context.Context, by *audit.Actor, a audit.Act) {
		got = append(got, fmt.Sprintf("%s %s %s: %s %q %s %s", by.Who, by.By, by.From, a.Act, a.On, a.Answer, a.Reason))
	}
	h := s.Guard(s.Login("api", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch by, err := audit.Of(r.Context()); r.URL.Path {
		case "/made":
			if err != nil {
				t.Error(err)
			}
			by.Note()
		case "/jobs/x/retry":
			w.WriteHeader(http.StatusBadRequest)
		case "/broken":
			panic(http.ErrAbortHandler)
		}
	})))
	send := func(method, path, user, password string) {
		defer func() { _ = recover() }()
		ask(t, h, method, "localhost", func(r *http.Request) { r.URL.Path = path; r.SetBasicAuth(user, password) })
	}
	send("GET", "/jobs", "ann", "secret")
	send("POST", "/made", "ann", "secret")
	send("POST", "/jobs/1111/cancel", "reader", "other")
	send("POST", "/jobs/x/retry", "ann", "secret")
	send("POST", "/broken", "ann", "secret")
	send("POST", "/unknown", "ann", "secret")
	send("POST", "/jobs/1111/cancel", "ann", "wrong")
	want := []string{
		`reader api 10.1.1.1: cancel "1111" refused You may only read: http.groups names who may make changes.`,
		`ann api 10.1.1.1: retry "x" refused Bad Request`,
		`ann api 10.1.1.1: broken "" failed `,
		`ann api 10.1.1.1: unknown "" done `,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
