package fanin_test

import (
	"context"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// TestPoisonInFanIn: a fold that kills every worker before it can report an error fails after the
// configured number of tries.
func TestPoisonInFanIn(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow)
	id := s.States.Ready()
	for _, worker := range e2e.Numbers(7) {
		s.States.Claim(id, worker)
	}
	s.Serve(s.File)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Failed || v.Error != "fan-in: given up after 7 tries: worker 7 fell silent" {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// hangingSink hangs in every write until its context ends.
type hangingSink struct {
	sink.Sink
	hangs chan struct{}
}

func (s *hangingSink) Create(ctx context.Context, _ sink.Object) (sink.Writer, error) {
	close(s.hangs)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestAStopHandsAFoldBack: a process that stops hands its fold back without using a try. Another
// process takes it at once.
func TestAStopHandsAFoldBack(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {shutdown_timeout: 100ms, lease: 10m}")
	id := s.States.Ready()
	files := &hangingSink{Sink: s.Files.Sink(), hangs: make(chan struct{})}
	stop := s.Roles.With(s.Process.Records, files)
	<-files.hangs
	stop()
	// Its file was small, so it is published before its object is begun.
	state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || state.Worker != "" || state.Fold.Tries != 0 || state.Status != job.StatusPublishing {
		t.Errorf("%+v %v", state, err)
	}
	s.Serve(s.File)
	s.Files.Content(s.Jobs.Wait(id)[0])
	s.Jobs.Idle()
}
