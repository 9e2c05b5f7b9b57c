package scripts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// asker is a record of TestOnceModel.
type asker struct {
	id, digest string
	status     string // new, waiting, running, alone, success, failed
	ran        bool   // it has an attempt
	maker      string // whose file it has
}

func (a *asker) final() bool { return a.status == "success" || a.status == "failed" }

// TestOnceModel lets records of several owners and parameters ask in any order, run, end with and without telling,
// be cancelled and retried. Nobody gets the file of another digest, of a job that failed, or of one that ended before
// it was retried; only one job leads a group; and however a run ends, sweeps and pushes bring every record to its end.
func TestOnceModel(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		name := fmt.Sprintf("%s_%d", testmain.Name(t), round)
		s := New(Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}})
		all := Partitions{s}
		defer func() {
			if keys := client.Keys(t.Context(), name+"*").Val(); len(keys) > 0 {
				client.Del(t.Context(), keys...)
			}
		}()
		window := rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "window")
		askers := map[string]*asker{}
		for i := range rapid.IntRange(2, 8).Draw(rt, "records") {
			id := fmt.Sprint(i)
			owner := rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "owner")
			askers[id] = &asker{id: id, status: "new", digest: owner + rapid.SampledFrom([]string{"-x", "-y"}).Draw(rt, "parameters")}
		}
		ids := slices.Sorted(maps.Keys(askers))
		attempts := map[string]int64{}
		var ask func(a *asker)
		ask = func(a *asker) {
			if a.final() || a.status == "running" || a.status == "alone" {
				return // the trigger knows the state
			}
			answers, err := s.Once.Ask(t.Context(), []Question{{ID: a.id, Digest: a.digest, Window: window, Again: a.ran}})
			if err != nil {
				rt.Fatal(err)
			}
			switch got := answers[0]; got.Kind {
			case Waits:
				if a.status = "waiting"; askers[got.Leader].digest != a.digest || a.ran {
					rt.Fatalf("%+v waits for %+v", a, askers[got.Leader])
				}
			case Leads:
				for _, other := range askers {
					if other != a && other.digest == a.digest && other.status == "running" {
						rt.Fatalf("%+v and %+v lead", a, other)
					}
				}
				a.status, a.ran = "running", true
				attempts[a.id]++
			case Alone:
				if !a.ran {
					rt.Fatalf("%+v runs alone", a)
				}
				a.status = "alone"
				attempts[a.id]++
			case Shares:
				m := askers[got.Maker]
				if m.digest == a.digest && (m.status != "success" || got.Attempt != attempts[m.id]) { // it was retried
					if err := s.Once.Forget(t.Context(), a.digest); err != nil {
						rt.Fatal(err)
					}
					ask(a)
					return
				}
				if m.digest != a.digest || m.status != "success" || got.Attempt != attempts[m.id] || m.maker != m.id || a.ran {
					rt.Fatalf("%+v gets the file of attempt %d of %+v", a, got.Attempt, m)
				}
				if window == 0 && a.status != "waiting" {
					rt.Fatalf("%+v gets a file that is too old", a)
				}
				a.status, a.maker, a.ran = "success", m.id, true
				attempts[a.id]++
				if rapid.Bool().Draw(rt, "tells") {
					tell(t, all, OnceEnd{ID: a.id, Window: window})
				}
			}
		}
		pushed := func() {
			for _, m := range client.XRange(t.Context(), s.Keys.Jobs, "-", "+").Val() {
				ask(askers[m.Values["id"].(string)])
				client.XDel(t.Context(), s.Keys.Jobs, m.ID)
			}
		}
		end := func(a *asker, ok, tells bool) {
			e := OnceEnd{ID: a.id, Whole: true, Window: window}
			if a.status = "failed"; ok {
				a.status, a.maker, e.Attempt = "success", a.id, attempts[a.id]
			}
			if tells {
				tell(t, all, e)
			}
		}
		sweep := func() {
			groups, err := s.Once.All(t.Context(), 100)
			if err != nil {
				rt.Fatal(err)
			}
			for _, g := range groups {
				switch a := askers[g.Leader]; {
				case g.Leader == "":
					if err := ReleaseOnce(t.Context(), all, g); err != nil {
						rt.Fatal(err)
					}
				case a.final():
					e := OnceEnd{ID: a.id, Whole: true, Window: window}
					if a.status == "success" && a.maker == a.id {
						e.Attempt = attempts[a.id]
					}
					tell(t, all, e)
				}
			}
		}
		pick := func(rt *rapid.T) *asker { return askers[rapid.SampledFrom(ids).Draw(rt, "id")] }
		rt.Repeat(map[string]func(*rapid.T){
			"push":   func(rt *rapid.T) { ask(pick(rt)) },
			"pushed": func(*rapid.T) { pushed() },
			"sweep":  func(*rapid.T) { sweep() },
			"end": func(rt *rapid.T) {
				if a := pick(rt); a.status == "running" || a.status == "alone" {
					end(a, rapid.Bool().Draw(rt, "succeeds"), rapid.Bool().Draw(rt, "tells"))
				}
			},
			"cancel": func(rt *rapid.T) {
				if a := pick(rt); a.status == "waiting" || a.status == "running" {
					end(a, false, rapid.Bool().Draw(rt, "tells"))
				}
			},
			"retry": func(rt *rapid.T) {
				if a := pick(rt); a.final() {
					a.status, a.ran, a.maker = "new", true, ""
				}
			},
		})
		for range 4 * len(askers) {
			for _, id := range ids {
				if a := askers[id]; a.status == "new" {
					ask(a)
				} else if a.status == "running" || a.status == "alone" {
					end(a, true, true)
				}
			}
			sweep()
			pushed()
		}
		for _, a := range askers {
			if !a.final() {
				rt.Errorf("%+v does not end", a)
			}
		}
		// Nothing stays but the memory of files.
		sweepIndex(t, all, askers)
		for _, key := range client.Keys(t.Context(), name+":once*").Val() {
			if client.PTTL(t.Context(), key).Val() < 0 || strings.HasSuffix(key, ":waiting") {
				rt.Errorf("%s is left: %v", key, client.HGetAll(t.Context(), key).Val())
			}
		}
	})
}

// sweepIndex tells the ends that were not told, as a push of a final record does.
func sweepIndex(t *testing.T, all Partitions, askers map[string]*asker) {
	t.Helper()
	for _, a := range askers {
		tell(t, all, OnceEnd{ID: a.id, Window: time.Hour})
	}
}

func tell(t *testing.T, all Partitions, e OnceEnd) {
	t.Helper()
	if err := EndOnce(t.Context(), all, e); err != nil {
		t.Fatal(err)
	}
}
