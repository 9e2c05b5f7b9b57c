package spool_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
)

// failing is a sink of which every write fails after a while.
type failing struct {
	sink.Sink
	after time.Duration
	tries *int
}

func (f failing) Create(context.Context, sink.Object) (sink.Writer, error) {
	*f.tries++
	time.Sleep(f.after) // of synctest
	return nil, errors.New("503")
}

// TestASpoolThatIsAway: a commit is tried again while its query stays open, and not behind a sink that hangs.
func TestASpoolThatIsAway(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]int{time.Millisecond: 4, 2 * time.Minute: 1} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			s := spool.New(spool.Options{Sink: failing{after: after, tries: &tries}})
			w := s.Create(spool.Name{Report: "r", ID: "1", Attempt: 1})
			if _, err := w.Commit(t.Context()); err == nil || tries != want {
				t.Errorf("every try takes %s: %d tries, %v", after, tries, err)
			}
		})
	}
}
