package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

// TestHeld: the overview names what is paused and limited, by whom and until when, and links to where that ends.
func TestHeld(t *testing.T) {
	t.Parallel()
	d := New(Options{Inspect: &inspect.Inspector{}})
	now := time.Now()
	soon, later := now.Add(time.Hour), now.Add(48*time.Hour)
	s := &sample{
		At: now, Full: true,
		Pauses: []inspect.Pause{{What: "source/db", Stored: scripts.Hold{Who: "ann", Until: soon, Reason: "its disk is full"}}, {What: "listener/pay"}},
		Limits: []inspect.Limit{{What: "report/daily", Limit: 3, Stored: scripts.Hold{Who: "ben", Until: later}}},
	}
	for _, want := range []string{
		`<dt><a href="/sources#source-db">Paused</a></dt>`,
		`<a href="/sources#source-db">source db</a> <span class="soft">by ann until ` + soon.Format("15:04") + `: its disk is full</span>`,
		`<a href="/listeners?only=pay">listener pay</a> <span class="soft">without an end</span>`,
		`<dt><a href="/reports?only=daily">Limited</a></dt>`,
		`<a href="/reports?only=daily">report daily</a> <span class="soft">to 3 by ben until ` + later.Format("2006-01-02 15:04") + `</span>`,
	} {
		d.sampler.now.Store(s)
		if _, text := asOperator(t, d, "/"); !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	d.sampler.now.Store(&sample{At: now, Full: true})
	if _, text := asOperator(t, d, "/"); strings.Count(text, "</a></dt><dd>nothing</dd>") != 2 {
		t.Errorf("something is held: %s", text)
	}
}
