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
	asked      string // the digest with which it asked last
	status     string // new, waiting, queued (it leads, and has not started), running, alone, success, failed
	ran        bool   // it has an attempt
	attempt    int64
	maker      string           // whose file it has
	made       map[int64]string // attempt → the digest with which it ran
}

// runs starts an attempt.
func (a *asker) runs(status string) {
	a.status, a.ran = status, true
	a.attempt++
	a.made[a.attempt] = a.digest
}

func (a *asker) final() bool { return a.status == "success" || a.status == "failed" }

// TestOnceModel lets records of several owners and parameters ask in any order, run, end with and without telling,
// be cancelled and retried. Their parameters change before they run, and some run without asking again. Nobody gets
// the file of another digest, of a job that failed, or of one that ended before it was retried; only one job leads a
// group; and however a run ends, sweeps and pushes bring every record to its end.
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
		digests := []string{"x-ann", "x-bob", "y-ann", "y-bob"} // a parameter and an owner
		window := rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "window")
		askers := map[string]*asker{}
		for i := range rapid.IntRange(2, 8).Draw(rt, "records") {
			id := fmt.Sprint(i)
			askers[id] = &asker{id: id, status: "new", digest: rapid.SampledFrom(digests).Draw(rt, "digest"),
				made: map[int64]string{}}
		}
		ids := slices.Sorted(maps.Keys(askers))
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
				if a.status, a.asked = "waiting", a.digest; askers[got.Leader].asked != a.digest || a.ran {
					rt.Fatalf("%+v waits for %+v", a, askers[got.Leader])
				}
			case Leads:
				for _, other := range askers {
					if other != a && other.asked == a.digest && (other.status == "running" || other.status == "queued") {
						rt.Fatalf("%+v and %+v lead", a, other)
					}
				}
				if a.asked, a.status = a.digest, "queued"; rapid.Bool().Draw(rt, "starts") {
					a.runs("running")
				}
			case Alone:
				if !a.ran {
					rt.Fatalf("%+v runs alone", a)
				}
				a.asked = ""
				a.runs("alone")
			case Moves:
				tell(t, all, OnceEnd{ID: a.id, Window: window})
				ask(a)
			case Shares:
				m := askers[got.Maker]
				if m.made[got.Attempt] != a.digest || a.ran {
					rt.Fatalf("%+v gets the file of attempt %d of %+v", a, got.Attempt, m)
				}
				if m.status != "success" || got.Attempt != m.attempt { // it was retried
					if err := s.Once.Forget(t.Context(), a.digest); err != nil {
						rt.Fatal(err)
					}
					ask(a)
					return
				}
				if window == 0 && a.status != "waiting" {
					rt.Fatalf("%+v gets a file that is too old", a)
				}
				a.status, a.maker, a.ran = "success", m.id, true
				a.attempt++
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
				a.status, a.maker, e.Attempt, e.Content = "success", a.id, a.attempt, a.made[a.attempt]
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
						e.Attempt, e.Content = a.attempt, a.made[a.attempt]
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
				if a := pick(rt); a.status == "waiting" || a.status == "queued" || a.status == "running" {
					end(a, false, rapid.Bool().Draw(rt, "tells"))
				}
			},
			"changes": func(rt *rapid.T) {
				if a := pick(rt); a.status != "running" && a.status != "alone" && !a.final() {
					a.digest = rapid.SampledFrom(digests).Draw(rt, "digest")
				}
			},
			"starts": func(rt *rapid.T) { // without asking again, because Redis does not answer
				if a := pick(rt); a.status == "queued" {
					a.runs("running")
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
				if a := askers[id]; a.status == "new" || a.status == "queued" {
					if ask(a); a.status == "queued" {
						a.runs("running")
					}
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

// TestAGroupGetsNoOtherFile: the parameters of a leader changed, and its job ran without asking again, because Redis
// did not answer. Those that wait do not get its file.
func TestAGroupGetsNoOtherFile(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	s := New(Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}})
	for content, want := range map[string]AnswerKind{"x": Shares, "y": Leads} {
		leader, waits := "leads-"+content, "waits-"+content
		ask := func(id string) AnswerKind {
			t.Helper()
			answers, err := s.Once.Ask(t.Context(), []Question{{ID: id, Digest: "x-" + leader, Window: time.Minute}})
			if err != nil {
				t.Fatal(err)
			}
			return answers[0].Kind
		}
		if first, second := ask(leader), ask(waits); first != Leads || second != Waits {
			t.Errorf("%d %d", first, second)
		}
		tell(t, Partitions{s}, OnceEnd{ID: leader, Attempt: 1, Whole: true, Window: time.Minute, Content: content})
		if got := ask(waits); got != want {
			t.Errorf("after a file of %s: %d, not %d", content, got, want)
		}
	}
}
