package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
)

var _ listeners.Canceler = (*Source)(nil)

// Cancel implements listeners.Canceler: it cancels the open jobs in the memo of a task, if the listener
// says how. If the id of a job is not known, it looks the job up, if the listener says how.
func (s *Source) Cancel(ctx context.Context, task listeners.Task) error {
	f, ok := task.Listener.Own.(*Fields)
	if !ok || f.Cancel == nil || task.Memo == nil {
		return nil
	}
	r := &reader{source: s, task: task, fields: f, memo: &memo{}, time: ask.NewPatience(ctx, 0, nil)}
	defer r.time.Stop()
	if err := json.Unmarshal(task.Memo, r.memo); err != nil {
		return listeners.Permanent(fmt.Errorf("the memo: %w", err))
	}
	var failed error
	for i := range r.memo.Jobs {
		j := &r.memo.Jobs[i]
		r.batch = i
		if j.ID == "" && j.Asked && f.Submit.Unknown.Answer == LookUpJob {
			id, err := r.lookUp(ctx)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("the job with the key %s: %w", r.key(), err))
			}
			j.ID = id
		}
		if j.ID != "" && !j.Done {
			failed = errors.Join(failed, s.end(ctx, r))
		}
	}
	return failed
}

// end cancels the current job. A job that does not exist or has ended is a success.
func (s *Source) end(ctx context.Context, r *reader) error {
	cancel := r.fields.Cancel
	if cancel == nil {
		return nil
	}
	asked, err := r.request(*cancel)
	if err != nil {
		return err
	}
	a, err := s.do(ctx, asked)
	if f := ask.As(err); f != nil {
		switch f.Code {
		case http.StatusNotFound, http.StatusConflict, http.StatusGone:
			return nil
		}
	}
	if err == nil {
		a.Close()
	} else if ctx.Err() != nil {
		err = fmt.Errorf("API %s: %s: %w", s.api.Name, asked.what, err)
	}
	return err
}
