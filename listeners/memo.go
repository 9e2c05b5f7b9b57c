package listeners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// memo is a stored memo of a source, with the definition of its job.
type memo struct {
	Definition string          `json:"definition"`
	Memo       json.RawMessage `json:"memo"`
}

// remember is Task.Remember.
func (t *task) remember(ctx context.Context, text []byte) error {
	whole, err := json.Marshal(memo{t.own.Definition, text})
	if err != nil {
		return Permanent(fmt.Errorf("the memo is not JSON: %w", err))
	}
	if len(whole) > scripts.MaxMemo {
		return Permanent(fmt.Errorf("the memo has %d bytes, more than the maximum of %d", len(whole), scripts.MaxMemo))
	}
	outcome, err := callRedis(ctx, t, "remember", func() (scripts.Outcome, error) { return t.own.Remember(ctx, whole) })
	if err != nil {
		return err
	}
	return lost(outcome)
}

// say lets people see what the query of a task waits for, until it begins or goes on: then what is empty.
func say(ctx context.Context, t *task, what string, blame job.Blame) error {
	if what == t.said {
		return nil
	}
	outcome, err := step.Insist(ctx, t.log, "say what a query waits for",
		func() (scripts.Outcome, error) { return t.o.Scripts.Tasks.Pause(ctx, t.own, what, blame) }, step.UnlessFull)
	if err != nil {
		return away(err)
	}
	t.said = what
	return lost(outcome)
}

// beginsAfterWait says that the query begins now, if people see that it waits.
func (t *task) beginsAfterWait(ctx context.Context) error {
	if t.said == "" {
		return nil
	}
	outcome, err := step.Insist(ctx, t.log, "say that a query begins",
		func() (scripts.Outcome, error) { return t.o.Scripts.Tasks.Begin(ctx, t.own) }, step.UnlessFull)
	if err != nil {
		return away(err)
	}
	t.said = ""
	return lost(outcome)
}

// sayFor is say for a wait whose duration is known. A short one would end before people see it.
func sayFor(ctx context.Context, t *task, d time.Duration, what string, blame job.Blame) error {
	if d <= PatienceFirst {
		return nil
	}
	return say(ctx, t, what, blame)
}

// lost returns the error of a task that is no longer this worker's; nil: it is.
func lost(outcome scripts.Outcome) error {
	switch outcome {
	case scripts.Busy:
		return ErrTaken
	case scripts.Gone:
		return ErrEnded
	}
	return nil
}

// remembered decodes a memo. It returns an empty one if the text is not valid.
func remembered(text []byte) memo {
	var m memo
	if err := json.Unmarshal(text, &m); err != nil {
		return memo{}
	}
	return m
}

// ErrTaken is the error of Remember if another worker has the task.
var ErrTaken = fmt.Errorf("%w: another worker has the task", errLeft)

// Lost reports whether an error of Remember means that the memo is not stored, or may not be: another
// worker has the task (ErrTaken), the job has ended (ErrEnded), or Redis is away and the worker must
// stop.
func Lost(err error) bool { return errors.Is(err, errLeft) || errors.Is(err, ErrEnded) }
