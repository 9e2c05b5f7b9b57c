package trigger

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// TestAPoisonousTurnGivesItsSlotBack at once.
func TestAPoisonousTurnGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	r := oneListener()
	e := newLaned(t, 1, r, lostRecords{})
	if n := seek(t, e, r, "7", "8"); n != 1 {
		t.Fatalf("%d have slots", n)
	}
	entry := scripts.Entry{ID: "5-0", Fields: map[string]string{"id": "7"}, Deliveries: maxDeliveries + 1}
	if results := e.handle(t.Context(), []step.Entry{{Entry: entry}}); results[0].Kind != step.Unusable {
		t.Errorf("%+v", results)
	}
	found, err := e.Scripts.Lanes.Entries(t.Context(), "7", "8")
	if err != nil || len(found) != 1 || found["8"].Lane == "" || found["8"].Waits {
		t.Errorf("%+v %v", found, err)
	}
}

// TestAPoisonousPushIsRefused: it was noted when it was delivered first, and stays noted no longer than that.
func TestAPoisonousPushIsRefused(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	e := newTrigger(engine.Options{Scripts: s, Partitions: []*scripts.Scripts{s}})
	if _, err := s.Receipts.Note(t.Context(), "7", "a/5-0"); err != nil {
		t.Fatal(err)
	}
	results := e.handle(t.Context(), []step.Entry{{Entry: scripts.Entry{ID: "5-0", Fields: map[string]string{"id": "7", "reply_to": "a"}, Deliveries: maxDeliveries + 1}}})
	if results[0].Kind != step.Unusable {
		t.Errorf("%+v", results)
	}
	told := client.XRange(t.Context(), s.Keys.Finished, "-", "+").Val()
	if len(told) != 1 || client.HLen(t.Context(), s.Keys.ReplyTo).Val() != 0 {
		t.Fatalf("%v", told)
	}
	if r, ok := job.ParseReceipt(told[0].Values["name"].(string)); !ok || r.Kind != job.ReceiptRefused || r.Stream != "a" || !strings.Contains(r.Reason, "20") {
		t.Errorf("%+v", r)
	}
}
