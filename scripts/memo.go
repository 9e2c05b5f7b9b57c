package scripts

import (
	"context"
	"fmt"
)

// MaxMemo is the most bytes that the memo of a task may have.
const MaxMemo = 64 << 10

var rememberScript = load("remember")

// Remember stores the memo of a task, in place of the one before, if the task still
// has this owner: OK, Busy or Gone. Take gives it to later owners, in this attempt
// alone; a full Redis takes it, too. One of more than MaxMemo is refused.
func (s *Scripts) Remember(ctx context.Context, t Task, memo []byte) (Outcome, error) {
	if len(memo) > MaxMemo {
		return 0, fmt.Errorf("a memo of %d bytes, more than the %d that it may have", len(memo), MaxMemo)
	}
	return s.outcome(ctx, rememberScript.call(shared{args: []any{t.Listener}}, []string{s.State(t.ID)}, t.Attempt, t.Owner, memo))
}
