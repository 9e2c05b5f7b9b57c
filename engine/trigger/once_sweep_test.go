package trigger

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestGroupsThatNobodyEnds: whoever ends a job can die before it tells the others.
func TestGroupsThatNobodyEnds(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	all := map[string]engine.Record{}
	shares := oneListener()
	shares.Once = &report.Once{Window: time.Minute}
	shares.Parameters = []report.Parameter{{Name: "group", Type: report.ParamString}}
	e := newTrigger(engine.Options{
		Scripts: s, Partitions: scripts.Partitions{s}, Records: lostRecords{all: all},
		Reports: map[string]*report.Report{"r": shares},
	})
	record := func(id string, status report.Status, group string) {
		all[id] = engine.Record{ID: id, Report: "r", Status: status, Attempt: 1, Parameters: []byte(`{"group": "` + group + `"}`)}
	}
	digestOf := func(group string) string {
		parameters, err := shares.Canonical([]byte(`{"group": "`+group+`"}`), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return shares.Once.Digest("r", shares.Hash(), parameters, "")
	}
	// Of every group, the first leads and the others wait.
	groups := map[string][]string{
		"runs": {"run", "w1"}, "pending": {"pen", "w2"}, "succeeded": {"suc", "w3", "w4"}, "failed": {"fai", "w5", "w6"},
		"deleted": {"del", "w7"}, "left": {"lef", "w8", "w9"}, "changed": {"cha", "wa", "wb"},
	}
	for group, ids := range groups {
		digest := digestOf(group)
		for _, id := range ids {
			if _, err := s.Once.Ask(t.Context(), []scripts.Question{{ID: id, Digest: digest, Window: time.Minute}}); err != nil {
				t.Fatal(err)
			}
		}
		client.HSet(t.Context(), s.Keys.Group(digest), "since", time.Now().Add(-time.Minute).UnixMilli())
	}
	running(t, s, "run", time.Hour)
	record("run", report.Processing, "runs")
	record("pen", report.Pending, "pending")
	record("suc", report.Success, "succeeded")
	record("fai", report.Failed, "failed")
	record("lef", report.Pending, "left")
	record("cha", report.Success, "other") // which is the content of its file
	client.HDel(t.Context(), s.Keys.Group(digestOf("left")), "leader", "since")
	pushed := func() (ids []string) {
		for _, m := range client.XRange(t.Context(), s.Keys.Jobs, "-", "+").Val() {
			id, _ := m.Values["id"].(string)
			ids = append(ids, id)
			client.XDel(t.Context(), s.Keys.Jobs, m.ID)
		}
		slices.Sort(ids)
		return ids
	}
	ctx := context.WithoutCancel(t.Context())
	left, err := e.once.sweepGroups(ctx, nil)
	if got, want := pushed(), []string{"w3", "w4", "w5", "w7", "wa"}; err != nil || !slices.Equal(got, want) || !left[digestOf("left")] {
		t.Errorf("pushed %q, want %q; %v %v", got, want, left, err)
	}
	// Those that waited in a group without a leader during two sweeps are pushed.
	if _, err := e.once.sweepGroups(ctx, map[string]bool{digestOf("left"): true}); err != nil {
		t.Error(err)
	}
	if got, want := pushed(), []string{"w8", "w9"}; !slices.Equal(got, want) {
		t.Errorf("pushed %q, want %q", got, want)
	}
	for id, want := range map[string]scripts.AnswerKind{"w3": scripts.Shares, "w5": scripts.Leads, "w6": scripts.Waits,
		"w7": scripts.Leads, "w8": scripts.Leads, "w1": scripts.Waits, "wa": scripts.Leads, "wb": scripts.Waits} {
		digest := ""
		for group, ids := range groups {
			if slices.Contains(ids, id) {
				digest = digestOf(group)
			}
		}
		answers, err := s.Once.Ask(t.Context(), []scripts.Question{{ID: id, Digest: digest, Window: time.Minute}})
		if err != nil || answers[0].Kind != want {
			t.Errorf("%s: %+v, want %d: %v", id, answers, want, err)
		}
	}
	// A rebuild leaves those alone that wait.
	waits := map[string]bool{}
	if err := e.once.waiting(ctx, []*push{
		{id: "w1", report: e.Reports["r"], record: &engine.Record{Status: report.Pending}},
		{id: "run", report: e.Reports["r"], record: &engine.Record{Status: report.Pending}},
		{id: "w2", report: e.Reports["r"], record: &engine.Record{Status: report.Processing}},
	}, waits); err != nil || len(waits) != 1 || !waits["w1"] {
		t.Errorf("%v %v", waits, err)
	}
}
