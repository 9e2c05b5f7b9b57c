package scripts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

// TestReceiptsAreAskedFor: the scripts that start and end a job append the firings of its receipts, once, and the job
// is noted no longer.
func TestReceiptsAreAskedFor(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	kinds := func() (all []string) {
		for _, e := range client.XRange(ctx, s.Keys.Finished, "-", "+").Val() {
			r, ok := job.ParseReceipt(e.Values["name"].(string))
			if !ok || r.ID != "1" || r.Attempt != "1" || r.Report != "r" || len(r.Started) != 13 || len(r.Deadline) != 13 {
				t.Errorf("%v", e.Values)
			}
			all = append(all, r.Kind+" "+r.Stream+" "+r.Push)
		}
		return all
	}
	pushes := []string{"1", "a/5-0", "1", "b/6-0", "1", "a/7-0"} // the last one has the first one's receipts
	outcomes, err := s.Receipts.Note(ctx, pushes...)
	if err != nil || !slices.Equal(outcomes, []Outcome{OK, OK, OK}) {
		t.Fatal(outcomes, err)
	}
	started(t, s, "2", time.Hour, "l")
	started(t, s, "1", time.Hour, "l")
	if outcomes, err := s.Jobs.Start(ctx, "", attempt("1", time.Hour, "l")); err != nil || outcomes[0] != Already {
		t.Fatal(outcomes, err)
	}
	accepted := []string{"accepted a 5-0", "accepted b 6-0"}
	if got := kinds(); !slices.Equal(got, accepted) {
		t.Errorf("%q", got)
	}
	if outcome, _, err := s.Jobs.Cancel(ctx, "1", 1, "x"); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	fold := claimed(t, s, "1", "w", ToFail)
	for range 2 {
		if outcomes, err := s.Folds.Settle(ctx, End{fold, "CANCELLED", "x", false}); err != nil || outcomes[0] != OK {
			t.Fatal(outcomes, err)
		}
	}
	if got := kinds(); !slices.Equal(got, append(accepted, "ended a 5-0", "ended b 6-0")) {
		t.Errorf("%q", got)
	}
	if left, err := s.Receipts.Read(ctx, "1"); err != nil || len(left) > 0 {
		t.Errorf("%q %v", left, err)
	}
	client.Set(ctx, s.Keys.ReplyTo, "x", 0)
	started(t, s, "3", time.Hour, "l") // it harms no job
}

// TestReceiptsThatCannotBeToldOf harm no job: where the stream of ends is of another type, a job starts with all that
// it has, and it ends whole or not at all.
func TestReceiptsThatCannotBeToldOf(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	if outcomes, err := s.Receipts.Note(ctx, "1", "a/5-0"); err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
	client.Set(ctx, s.Keys.Finished, "x", 0)
	started(t, s, "1", time.Hour, "l")
	if n, noted := client.ZCard(ctx, s.Keys.Deadlines).Val(), client.HLen(ctx, s.Keys.ReplyTo).Val(); n != 1 || noted != 1 {
		t.Errorf("%d deadlines, %d ids are noted", n, noted)
	}
	if outcome, _, err := s.Jobs.Cancel(ctx, "1", 1, "x"); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	end := End{claimed(t, s, "1", "w", ToFail), "CANCELLED", "x", false}
	events := client.XLen(ctx, s.Keys.Events).Val()
	if _, err := s.Folds.Settle(ctx, end); !errors.Is(err, ErrBroken) {
		t.Errorf("%v", err)
	}
	if n, noted := client.XLen(ctx, s.Keys.Events).Val(), client.HLen(ctx, s.Keys.ReplyTo).Val(); n != events || noted != 1 || client.Exists(ctx, s.Keys.Ended("1")).Val() != 0 {
		t.Errorf("%d events after %d, %d ids are noted", n, events, noted)
	}
	client.Del(ctx, s.Keys.Finished)
	if outcomes, err := s.Folds.Settle(ctx, end); err != nil || outcomes[0] != OK || client.XLen(ctx, s.Keys.Finished).Val() != 1 {
		t.Errorf("%v %v", outcomes, err)
	}
}

// TestAJobAnswersPushesThatComeAtItsEnd: where the record is final and the job is not settled, a push is not refused,
// and neither is the one that has started the job.
func TestAJobAnswersPushesThatComeAtItsEnd(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	note := func(push string) {
		t.Helper()
		if outcomes, err := s.Receipts.Note(ctx, "1", push); err != nil || outcomes[0] != OK {
			t.Fatal(outcomes, err)
		}
	}
	refuse := func() {
		t.Helper()
		if err := s.Receipts.Refuse(ctx, "1", "the record is CANCELLED"); err != nil {
			t.Fatal(err)
		}
	}
	note("a/5-0")
	started(t, s, "1", time.Hour, "l")
	if outcome, _, err := s.Jobs.Cancel(ctx, "1", 1, "x"); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	note("b/6-0")
	refuse()
	if outcomes, err := s.Folds.Settle(ctx, End{claimed(t, s, "1", "w", ToFail), "CANCELLED", "x", false}); err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
	note("b/7-0")
	refuse()
	var told []string
	for _, e := range client.XRange(ctx, s.Keys.Finished, "-", "+").Val() {
		r, _ := job.ParseReceipt(e.Values["name"].(string))
		told = append(told, r.Kind+" "+r.Stream+" "+r.Push)
	}
	if want := []string{"accepted a 5-0", "ended a 5-0", "ended b 6-0", "refused b 7-0"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

// TestTooManyServices want receipts of one id.
func TestTooManyServices(t *testing.T) {
	t.Parallel()
	s, _ := newScripts(t)
	var pushes []string
	for i := range maxReplies + 1 {
		pushes = append(pushes, "1", fmt.Sprintf("%d/1-0", i))
	}
	for range 2 {
		outcomes, err := s.Receipts.Note(t.Context(), pushes...)
		if err != nil || slices.Index(outcomes, Busy) != maxReplies {
			t.Error(outcomes, err)
		}
	}
	if noted, err := s.Receipts.Read(t.Context(), "1"); err != nil || len(noted) != maxReplies {
		t.Errorf("%q %v", noted, err)
	}
}

// TestReceiptsAreBounded: the stream of a service that does not read, and what is known of it.
func TestReceiptsAreBounded(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	stream := strings.TrimSuffix(s.Keys.Prefix, ":") + "-replies"
	known := job.KnownReceipts(stream, s.Keys.Prefix)
	var entries []string
	for i := range 300 {
		entries = append(entries, fmt.Sprint("old-", i), "2", "event", "finished")
	}
	args := []any{100, 150, 1000_000}
	for _, e := range entries {
		args = append(args, e)
	}
	if n, err := s.outcome(ctx, call(ctx, "deliver", []string{stream, known}, args...)); err != nil || n != 300 {
		t.Fatal(n, err)
	}
	if n, k := client.XLen(ctx, stream).Val(), client.ZCard(ctx, known).Val(); n >= 300 || n < 100 || k != 150 {
		t.Errorf("%d entries, %d are known", n, k)
	}
}
