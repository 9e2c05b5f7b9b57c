package trigger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// TestGroupsOfAReportThatSharesNoMore: those that wait are pushed, and nothing stays in Redis.
func TestGroupsOfAReportThatSharesNoMore(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	e := newTrigger(engine.Options{
		Scripts: s, Partitions: scripts.Partitions{s}, Reports: map[string]*report.Report{"r": oneListener()},
		Records: lostRecords{all: map[string]engine.Record{
			"leader": {ID: "leader", Report: "r", Status: report.Failed, Attempt: 1},
			"w1":     {ID: "w1", Report: "r", Status: report.Pending}, "w2": {ID: "w2", Report: "r", Status: report.Pending},
		}},
	})
	ctx := t.Context()
	for _, id := range []string{"leader", "w1", "w2"} {
		if _, err := s.Once.Ask(ctx, []scripts.Question{{ID: id, Digest: "0f"}}); err != nil {
			t.Fatal(err)
		}
	}
	client.HSet(ctx, s.Keys.Group("0f"), "since", time.Now().Add(-time.Minute).UnixMilli())
	sweeping, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- e.once.sweep(sweeping) }()
	if err := client.XRead(ctx, &redis.XReadArgs{Streams: []string{s.Keys.Jobs, "0"}, Block: 30 * time.Second}).Err(); err != nil {
		t.Errorf("no sweep ends the leader: %v", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var left map[string]*leaderless
	var err error
	for range 2 {
		if left, err = e.once.sweepGroups(ctx, left); err != nil {
			t.Fatal(err)
		}
	}
	if n := client.XLen(ctx, s.Keys.Jobs).Val(); n != 3 { // the next leader, and later all
		t.Errorf("%d pushes", n)
	}
	if keys := client.Keys(ctx, s.Keys.Once+"*").Val(); len(keys) > 0 {
		t.Errorf("%q stay", keys)
	}
}

// refusing records take no note.
type refusing struct{ engine.Records }

func (refusing) Note(context.Context, []engine.Run, string) error { return errors.New("a constraint") }

// TestATableThatRefusesTheNote for which job records wait does not hold up their batch.
func TestATableThatRefusesTheNote(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	e := newTrigger(engine.Options{Scripts: s, Partitions: scripts.Partitions{s}, Records: refusing{}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	i := &item{}
	e.once.wait(ctx, "leader", []*push{{id: "1", record: &engine.Record{ID: "1"}, items: []*item{i}}})
	if n := client.XLen(t.Context(), s.Keys.Events).Val(); i.result.Kind != step.Void || n != 1 {
		t.Errorf("%+v, %d events", i.result, n)
	}
}

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
	if got, want := pushed(), []string{"w3", "w4", "w5", "w7", "wa"}; err != nil || !slices.Equal(got, want) || left[digestOf("left")] == nil {
		t.Errorf("pushed %q, want %q; %v %v", got, want, left, err)
	}
	// Those that waited in a group without a leader during two sweeps are pushed.
	sweep := func(when string, want ...string) {
		t.Helper()
		if left, err = e.once.sweepGroups(ctx, left); err != nil {
			t.Error(err)
		}
		got := slices.DeleteFunc(pushed(), func(id string) bool { return !slices.Contains(groups["left"], id) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: pushed %q, want %q", when, got, want)
		}
	}
	only := digestOf("left")
	left = map[string]*leaderless{only: left[only]}
	sweep("the second", "w8", "w9")
	// They may be in a long queue: it does not fill with them.
	left[only].since, left[only].due = time.Now().Add(-time.Hour), time.Now().Add(time.Minute)
	sweep("soon after a push")
	sweep("again")
	left[only].due = time.Now().Add(-time.Second)
	sweep("long after it", "w8", "w9")
	if pause := time.Until(left[only].due); pause < 59*time.Minute {
		t.Errorf("the next push is in %s", pause)
	}
	left[only].pushed = []string{"w7", "w6"} // an earlier page of the group
	sweep("the next page", "w8", "w9")
	answers := map[string]scripts.AnswerKind{"w3": scripts.Shares, "w5": scripts.Leads, "w6": scripts.Waits,
		"w7": scripts.Leads, "w8": scripts.Leads, "w1": scripts.Waits, "wa": scripts.Leads, "wb": scripts.Waits}
	for _, id := range slices.Sorted(maps.Keys(answers)) { // the first of a group leads
		digest := ""
		for group, ids := range groups {
			if slices.Contains(ids, id) {
				digest = digestOf(group)
			}
		}
		got, err := s.Once.Ask(t.Context(), []scripts.Question{{ID: id, Digest: digest, Window: time.Minute}})
		if err != nil || got[0].Kind != answers[id] {
			t.Errorf("%s: %+v, want %d: %v", id, got, answers[id], err)
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
	e.once.leave(ctx, &push{id: "w1"}) // its row was deleted
	if waits, err := s.Once.Waiting(ctx, []string{"w1"}); err != nil || len(waits) != 0 {
		t.Errorf("a record that does not exist waits: %v %v", waits, err)
	}
}

// TestLostWithoutTheFirstPartition: the rebuild of a partition does not wait for the one that has the groups.
func TestLostWithoutTheFirstPartition(t *testing.T) {
	t.Parallel()
	s, _ := newScripts(t)
	gone := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = gone.Close() })
	away := scripts.New(scripts.Options{Redis: gone})
	shares, alone := oneListener(), oneListener()
	shares.Once, alone.Name = &report.Once{}, "alone"
	records := []engine.Record{
		{ID: "1", Report: "r", Status: report.Pending, Age: time.Hour},
		{ID: "2", Report: "alone", Status: report.Pending, Age: time.Hour},
	}
	e := newTrigger(engine.Options{
		Scripts: s, Partitions: scripts.Partitions{away, s}, Limits: report.Limits{RunningJobs: 100, RecoverAfter: time.Minute},
		Reports: map[string]*report.Report{"r": shares, "alone": alone},
		Records: lostRecords{all: map[string]engine.Record{"1": records[0], "2": records[1]}},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Epoch.Write(ctx, "epoch"); err != nil {
		t.Fatal(err)
	}
	l, err := e.StartLost(ctx, records, "epoch", func(context.Context) error { return nil })
	if err != nil || l.Started != 1 || len(l.Left) != 0 {
		t.Errorf("%+v %v", l, err)
	}
}
