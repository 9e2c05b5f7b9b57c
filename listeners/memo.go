package listeners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/scripts"
)

// memo is what is kept of a task: what its source remembers, and for which definition.
type memo struct {
	Definition string          `json:"definition"`
	Memo       json.RawMessage `json:"memo"`
}

// remember stores what a source has to say, until Redis is there.
func (r *Runner) remember(ctx context.Context, t *task, definition string, text []byte) error {
	whole, err := json.Marshal(memo{definition, text})
	if err != nil {
		return Permanent(fmt.Errorf("a memo must be JSON: %w", err))
	}
	if len(whole) > scripts.MaxMemo {
		return Permanent(fmt.Errorf("a memo of %d bytes, more than the %d that it may have", len(whole), scripts.MaxMemo))
	}
	outcome, err := insist(ctx, r, "remember", func() (scripts.Outcome, error) { return t.Remember(ctx, whole) })
	switch {
	case err != nil:
		return away(err)
	case outcome == scripts.Busy:
		return ErrTaken
	case outcome == scripts.Gone:
		return ErrEnded
	}
	return nil
}

// remembered is what an earlier Read has remembered; nil where it is nothing, or not
// ours.
func remembered(text []byte) memo {
	var m memo
	if err := json.Unmarshal(text, &m); err != nil {
		return memo{}
	}
	return m
}

// ErrTaken is matched by the error of Remember where another worker has the task.
var ErrTaken = fmt.Errorf("%w: another worker has the task", errLeft)

// Lost tells whether an error of Remember means that nothing is remembered, or that
// this is not known: the task is not this worker's any more (ErrTaken), its job has
// ended (ErrEnded), or Redis is away and the worker must stop.
func Lost(err error) bool { return errors.Is(err, errLeft) || errors.Is(err, ErrEnded) }
