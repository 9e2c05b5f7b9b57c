package fanin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

var errLost = errors.New("the connection broke after the change")

// lossyRecords makes the first changes and then returns an error, as if the answers were lost.
type lossyRecords struct {
	*record.Store
	lose atomic.Int64
}

func (r *lossyRecords) Start(ctx context.Context, runs []engine.Run) ([]bool, error) {
	started, err := r.Store.Start(ctx, runs)
	if r.lose.Add(-1) >= 0 {
		return nil, errors.Join(errLost, err)
	}
	return started, err
}

func (r *lossyRecords) Succeed(ctx context.Context, run engine.Run, file string, rows int64) (bool, error) {
	ok, err := r.Store.Succeed(ctx, run, file, rows)
	if r.lose.Add(-1) >= 0 {
		return false, errors.Join(errLost, err)
	}
	return ok, err
}

// brokenSink is down for the first objects, or refuses them.
type brokenSink struct {
	sink.Sink
	away, refuse atomic.Int64
}

func (s *brokenSink) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if s.away.Add(-1) >= 0 {
		return nil, errors.New("503 from the sink")
	}
	if s.refuse.Add(-1) >= 0 {
		return nil, fmt.Errorf("%w: 403 from the sink", sink.ErrRefused)
	}
	return s.Sink.Create(ctx, o)
}

// TestLostAnswers: a job is not lost if the answers of MySQL to successful changes are lost.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {recover_after: 1s, lease: 1s}")
	records := &lossyRecords{Store: s.Process.Records}
	records.lose.Store(1)
	s.Roles.With(records, s.Files.Sink())
	v := s.Jobs.Run("slow", "")
	if s.Files.Content(v); v.Attempt != 2 {
		t.Errorf("after the answer to the start was lost: %+v", v)
	}
	id := s.Records.Insert("slow", `{"seconds": 1}`)
	s.Jobs.Push(id)
	s.Eventually("started", func() bool { return s.Redis.Exists(t.Context(), s.Partitions.First().Keys.Job(id)).Val() == 1 })
	records.lose.Store(1)
	if v := s.Jobs.Wait(id)[0]; v.Attempt != 1 {
		t.Errorf("after the answer to the end was lost: %+v", v)
	} else {
		s.Files.Content(v)
	}
	s.Jobs.Idle()
}

// TestAPublishedJobThatLostItsData: a job that lost its data after the commit of its file ends as
// its record says. The file stays if the record points to it, and is deleted if the record is
// FAILED.
func TestAPublishedJobThatLostItsData(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {lease: 1s}")
	files := s.Files.Sink()
	success, failing := s.States.Published(files), s.States.Published(files)
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS', file = ? WHERE id = ?", files.URL(s.Files.Named("slow", success, 1)), success)
	for _, id := range []string{success, failing} {
		s.States.LoseData(id)
	}
	s.Roles.With(s.Process.Records, files)
	s.Jobs.Idle()
	if got := s.Files.Content(s.Jobs.Wait(success)[0]); got != "k,v\r\n1,0\r\n" {
		t.Errorf("%q", got)
	}
	if v := s.Jobs.Wait(failing)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "chunk") {
		t.Errorf("%+v", v)
	}
	if _, err := os.Stat(s.Dir + "/files/" + s.Files.Named("slow", failing, 1)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of the failed job: %v", err)
	}
}

// TestAFileColumnThatIsTooShort: if the path does not fit into the file column, the job fails and
// its file is deleted.
func TestAFileColumnThatIsTooShort(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow)
	s.Records.Exec("ALTER TABLE file_download_record MODIFY file VARCHAR(20) NULL")
	s.Serve(s.File)
	if v := s.Jobs.Run("slow", ""); v.Status != report.Failed || !strings.Contains(v.Error, "has 20 characters") {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
	s.Files.None("slow")
}

// TestASinkThatIsAway: an outage of the sink does not use a try. A refused file does, and an object
// that was published for it before is deleted once the record is FAILED.
func TestASinkThatIsAway(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, strings.Replace(e2e.Slow, "listeners:", "retry: {retries: 1, delay: 100ms}\n    listeners:", 1), "limits: {lease: 1s}")
	files := &brokenSink{Sink: s.Files.Sink()}
	id := s.States.Published(files)
	files.away.Store(3)
	s.Roles.With(s.Process.Records, files)
	v := s.Jobs.Wait(id)[0]
	if got := s.Files.Content(v); got != "k,v\r\n1,0\r\n" || v.Attempt != 1 {
		t.Errorf("%q %+v", got, v)
	}
	files.away.Store(3)
	v = s.Jobs.Run("slow", "")
	if s.Files.Content(v); v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	if all, counted := s.Jobs.Retries(v.ID, "@fanin"); all != 3 || counted != 0 {
		t.Errorf("%d retries, of which %d counted", all, counted)
	}
	s.Jobs.Idle()

	files.refuse.Store(2)
	v = s.Jobs.Run("slow", "")
	if v.Status != report.Failed || v.Error != "sink: refused: 403 from the sink (try 2 of 2)" {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}
