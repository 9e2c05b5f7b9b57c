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
	js := &jobs{reader: &reader{source: s, task: task, fields: f, time: ask.NewPatience(ctx, 0, nil)}}
	defer js.time.Stop()
	if err := json.Unmarshal(task.Memo, &js.memo); err != nil {
		return listeners.Permanent(fmt.Errorf("the memo: %w", err))
	}
	var failed error
	for i := range js.memo.Jobs {
		j := &js.memo.Jobs[i]
		if j.ID == "" && j.Asked && f.Submit.Unknown.Answer == LookUpJob {
			id, err := js.lookUp(ctx, js.part(i))
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("the job with the key %s: %w", js.key(js.part(i)), err))
			}
			j.ID = id
		}
		if j.ID != "" && !j.Done {
			failed = errors.Join(failed, js.end(ctx, js.part(i)))
		}
	}
	return failed
}

// end cancels a job. A job that does not exist or has ended is a success.
func (js *jobs) end(ctx context.Context, p part) error {
	cancel := js.fields.Cancel
	if cancel == nil {
		return nil
	}
	asked, err := js.request(*cancel, p)
	if err != nil {
		return err
	}
	a, err := js.source.do(ctx, asked)
	if f := ask.As(err); f != nil {
		switch f.Code {
		case http.StatusNotFound, http.StatusConflict, http.StatusGone:
			return nil
		}
	}
	if err == nil {
		a.Close()
	} else if ctx.Err() != nil {
		err = js.source.about(asked, err)
	}
	return err
}
