package listeners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/scripts"
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
	switch {
	case err != nil:
		return err
	case outcome == scripts.Busy:
		return ErrTaken
	case outcome == scripts.Gone:
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
