package config

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
)

// external is base with a listener that a service does.
func external(listener string) string {
	return strings.Replace(base, `shop.users: {database: main, query: "SELECT id, name FROM users"}`, listener, 1)
}

func TestExternalListener(t *testing.T) {
	t.Parallel()
	load := func(file string) *report.Report {
		t.Helper()
		c, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds)
		if err != nil {
			t.Fatal(err)
		}
		return c.Reports["orders"]
	}
	r := load(external("shop.users: {kind: external, columns: [id, {name: name, type: date}], silence: 90s, timeout: 2m, retry: 1}"))
	want := report.Listener{
		Name: "shop.users", File: "f.yaml", Line: 14, Kind: report.External, Columns: []string{"id", "name"}, Types: []report.Kind{report.KindText, report.KindDate},
		Timeout: 2 * time.Minute, Silence: 90 * time.Second, Retry: report.Retry{Retries: 1, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour},
	}
	got := r.Stages[0].Listeners[1]
	got.Own = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A try is its timeout, and the silence at its end.
	if got := r.Stages[0].Listeners[1].Total(); got != 2*(2*time.Minute+90*time.Second)+time.Minute {
		t.Errorf("it can take %v", got)
	}
	other := load(external("shop.users: {kind: external, columns: [id, name], timeout: 2m, retry: 1}"))
	if other.Stages[0].Listeners[1].Silence != 30*time.Second {
		t.Errorf("%+v", other.Stages[0].Listeners[1])
	}
	if r.Hash() == other.Hash() {
		t.Error("the type of a column does not change the hash")
	}
	same := load(external("shop.users: {kind: external, columns: [id, {name: name, type: date}]}"))
	if r.Hash() != same.Hash() {
		t.Error("silence changes the hash")
	}
	// What a service uses is not known: nothing seems unused.
	load(strings.Replace(external("shop.users: {kind: external, columns: [id, name]}"), "since: date", "since: date\n      until: date", 1))
}
