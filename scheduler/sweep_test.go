package scheduler

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// TestAJobThatNobodyEnds: it was decided that it fails, and the entry that has
// somebody do so is lost.
func TestAJobThatNobodyEnds(t *testing.T) {
	t.Parallel()
	b := shared(t)
	if _, err := b.s.Start(t.Context(), scripts.Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: -time.Hour, Listeners: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.s.Expire(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	b.client.Del(t.Context(), b.s.FanIn())
	b.run("c")
	b.until("its entry is sent again", func() bool { return b.client.XLen(t.Context(), b.s.FanIn()).Val() == 1 })
	b.until("it is said", func() bool { return b.said("nobody ended a job") == 1 })
}
