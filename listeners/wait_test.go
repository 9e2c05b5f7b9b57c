package listeners

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestATaskThatWaits uses no try, however often it looks, is told from one that
// failed, and knows what it knew before.
func TestATaskThatWaits(t *testing.T) {
	t.Parallel()
	b := setupTask(t, report.Retry{Retries: 1, Delay: time.Minute}, report.Limits{}, func(ctx context.Context, try int64, out *Writer, task Task) error {
		switch want := fmt.Sprintf(`{"look":%d}`, min(try-1, 6)); {
		case try == 1 && task.Memo != nil, try > 1 && string(task.Memo) != want:
			return Permanent(fmt.Errorf("look %d knows %s, not %s", try, task.Memo, want))
		case try == 1 && task.Before != "", try > 1 && try < 8 && task.Before != "vendor", try == 8 && task.Before != "the answer was cut":
			return Permanent(fmt.Errorf("try %d comes after %q", try, task.Before))
		case try == 7:
			return errors.New("the answer was cut") // what was remembered stays
		case try > 7:
			return one(out)
		}
		if err := task.Remember(ctx, fmt.Appendf(nil, `{"look":%d}`, try)); err != nil {
			return err
		}
		return Wait(10*time.Second, "vendor")
	})
	for look := range 6 {
		state := b.until("it waits", func(s *job.State) bool {
			next := s.Tasks["a"].Next
			return s.Tasks["a"].Owner == "" && !next.IsZero() && next.Equal(b.delayed())
		})
		if task := state.Tasks["a"]; task.Tries != 0 || task.Error != "" || task.Waits != "vendor" || !task.Next.Equal(b.delayed()) {
			t.Fatalf("look %d: %+v", look, task)
		}
		if in := time.Until(b.delayed()); in > 10*time.Second {
			t.Errorf("it comes again in %v", in)
		}
		b.comes()
	}
	state := b.until("a retry", func(s *job.State) bool { return s.Tasks["a"].Error != "" && !b.delayed().IsZero() })
	if task := state.Tasks["a"]; task.Tries != 1 || task.Waits != "" {
		t.Errorf("%+v", task)
	}
	b.comes()
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
}
