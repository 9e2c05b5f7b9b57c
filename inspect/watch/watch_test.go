package watch

import (
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
