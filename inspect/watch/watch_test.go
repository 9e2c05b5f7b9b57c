package watch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/installation"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// seen is a Watcher that keeps what it is shown.
type seen struct {
	shown  []inspect.Job
	events []Event
	act    func(inspect.Job)
}

func (s *seen) Show(v inspect.Job) error {
	s.shown = append(s.shown, v)
	s.act(v)
	return nil
}

func (s *seen) Event(e Event) error {
	s.events = append(s.events, e)
	return nil
}

// TestWatch shows jobs until their records are final or deleted, and events of theirs
// alone.
func TestWatch(t *testing.T) {
	t.Parallel()
	b := installation.New(t, "")
	in := inspect.New(inspect.Options{Scripts: b.Scripts, Records: b.Records})
	ctx, first, second := t.Context(), b.Insert(), b.Insert()
	step := 0
	s := &seen{}
	s.act = func(inspect.Job) {
		switch step++; step {
		case 2:
			for _, id := range []string{first, "404"} {
				b.OK(b.Scripts.First().Jobs.Note(ctx, id, 1, "ignored", "reason", "test"))
			}
		case 3:
			_, err := b.DB.ExecContext(ctx, "UPDATE file_download_record SET status = 'FAILED' WHERE id = ?", first)
			b.OK(err)
		case 5:
			_, err := b.DB.ExecContext(ctx, "DELETE FROM file_download_record WHERE id = ?", second)
			b.OK(err)
		}
	}
	jobs, err := Jobs(ctx, in, []string{first, second, first}, s)
	b.OK(err)
	if len(jobs) != 3 || jobs[0].Status != report.Failed || jobs[1].Status != report.Deleted || jobs[2].ID != first {
		t.Errorf("%+v", jobs)
	}
	if len(s.events) != 1 || s.events[0].ID != first || s.events[0].Name != "ignored" || s.events[0].Fields["reason"] != "test" || time.Since(s.events[0].At) > time.Minute {
		t.Errorf("%+v", s.events)
	}
}

// TestMore: ids can come while others are watched, also if none are at first.
func TestMore(t *testing.T) {
	t.Parallel()
	b := installation.New(t, "")
	in := inspect.New(inspect.Options{Scripts: b.Scripts, Records: b.Records})
	ctx, rest := t.Context(), []string{b.Insert(), b.Insert(), b.Insert()}
	s := &seen{act: func(v inspect.Job) {
		if v.Status == report.Pending {
			_, err := b.DB.ExecContext(ctx, "UPDATE file_download_record SET status = 'FAILED' WHERE id = ?", v.ID)
			b.OK(err)
		}
	}}
	var opens []int
	jobs, err := More(ctx, in, nil, s, func(_ context.Context, open int) (ids []string, err error) {
		opens = append(opens, open)
		if open == 0 && len(rest) > 0 {
			ids, rest = rest[:1], rest[1:]
		}
		return ids, nil
	})
	b.OK(err)
	if len(jobs) != 3 || jobs[0].Status != report.Failed || jobs[2].Status != report.Failed || slices.Max(opens) != 1 {
		t.Errorf("%+v, open %v", jobs, opens)
	}
	if _, err := More(ctx, in, nil, s, func(context.Context, int) ([]string, error) { return nil, errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
