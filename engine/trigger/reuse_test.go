package trigger_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
)

// gatedSink blocks the first file, when it is created or when it is committed, until its gate is
// opened. It does not block manifests.
type gatedSink struct {
	sink.Sink
	commit  bool
	taken   atomic.Bool
	reached chan struct{}
	gate    chan struct{}
}

func newGatedSink(s sink.Sink, commit bool) *gatedSink {
	return &gatedSink{Sink: s, commit: commit, reached: make(chan struct{}), gate: make(chan struct{})}
}

func (s *gatedSink) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if !s.taken.CompareAndSwap(false, true) {
		return s.Sink.Create(ctx, o)
	}
	if !s.commit {
		close(s.reached)
		<-s.gate
	}
	w, err := s.Sink.Create(ctx, o)
	if s.commit && err == nil {
		w = gatedWriter{w, s}
	}
	return w, err
}

type gatedWriter struct {
	sink.Writer
	s *gatedSink
}

func (w gatedWriter) Commit() (sink.Committed, error) {
	close(w.s.reached)
	<-w.s.gate
	return w.Writer.Commit()
}

// TestAnIDThatIsUsedAgain: if a record is deleted in mid-run and another record gets its id, the
// file has the parameters of the new record, at whatever step the old job is.
func TestAnIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	reuses := map[string]func(s *e2e.Stack, id, parameters string){
		"deleted and inserted": func(s *e2e.Stack, id, parameters string) {
			s.Records.Exec("DELETE FROM file_download_record WHERE id = ?", id)
			s.Records.Exec("INSERT INTO file_download_record (id, report, parameters) VALUES (?, 'who', ?)", id, parameters)
		},
		"replaced": func(s *e2e.Stack, id, parameters string) {
			s.Records.Exec("REPLACE INTO file_download_record (id, report, parameters) VALUES (?, 'who', ?)", id, parameters)
		},
		"set back": func(s *e2e.Stack, id, parameters string) {
			s.Records.Exec("UPDATE file_download_record SET status = 'PENDING', attempt = 0, file = NULL, parameters = ? WHERE id = ?", parameters, id)
		},
	}
	for how, reuse := range reuses {
		for _, place := range []string{"in its query", "before its file", "publishing", "ended"} {
			t.Run(how+" "+place, func(t *testing.T) {
				t.Parallel()
				s := e2e.New(t, e2e.Who, "limits: {lease: 1s, recover_after: 2s}")
				gated := newGatedSink(s.Files.Sink(), place == "publishing")
				gated.taken.Store(place != "before its file" && place != "publishing")
				seconds := 0.0
				if place == "in its query" {
					seconds = 3
				}
				stop := s.Roles.With(s.Process.Records, gated)
				id := s.Records.Insert("who", e2e.WhoParameters("old", seconds))
				s.Jobs.Push(id)
				switch place {
				case "in its query":
					s.States.Taken(id)
				case "ended":
					s.Files.Content(s.Jobs.Wait(id)[0])
				default:
					<-gated.reached
				}
				reuse(s, id, e2e.WhoParameters("new", 0))
				s.Jobs.Push(id)
				v := s.Jobs.Wait(id)[0]
				if got := s.Files.Content(v); got != e2e.WhoFile("new") {
					t.Errorf("%+v has the file %q", v, got)
				}
				close(gated.gate)
				s.Jobs.Idle()
				s.Eventually("records and sink agree", func() bool { return e2e.Agree(s) == "" })
				stop()
				if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != e2e.WhoFile("new") {
					t.Errorf("in the end: %q", got)
				}
				if left := e2e.Agree(s); left != "" {
					t.Error(left)
				}
			})
		}
	}
}

// TestParametersThatAreTooLong: parameters that are longer than the limit are not read; the record
// becomes FAILED with the remedy.
func TestParametersThatAreTooLong(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Who, "limits: {recover_after: 1s}")
	fits := s.Records.Insert("who", e2e.WhoParameters(strings.Repeat("x", 60<<10), 0))
	var long []string
	for _, size := range []int{64 << 10, 10 << 20, 10 << 20, 10 << 20} {
		long = append(long, s.Records.Insert("who", e2e.WhoParameters(strings.Repeat("x", size), 0)))
	}
	records, err := s.Process.Records.Read(t.Context(), append(long, fits))
	if err != nil || len(records) != 5 {
		t.Fatal(len(records), err)
	}
	for id, r := range records {
		if n := len(r.Parameters); (n == 0) != (id != fits) || n > 64<<10 {
			t.Errorf("%d bytes of the parameters of record %s are read", n, id)
		}
	}
	s.Serve(s.File)
	s.Jobs.Push(fits, long[0], long[1])
	if got := s.Files.Content(s.Jobs.Wait(fits)[0]); got != e2e.WhoFile(strings.Repeat("x", 60<<10)) {
		t.Errorf("%d bytes", len(got))
	}
	for _, v := range s.Jobs.Wait(long...) { // two were never pushed; a rebuild starts them
		if v.Status != report.Failed || !strings.Contains(v.Error, "limits.parameter_bytes is 65536: raise it") || !strings.Contains(v.Error, " bytes") {
			t.Errorf("%+v", v)
		}
	}
}

// meddlingRecords calls functions around the starts of records and after their ends.
type meddlingRecords struct {
	*record.Store
	before, after, ended func()
}

func (r *meddlingRecords) Start(ctx context.Context, runs []engine.Run) ([]bool, error) {
	r.before()
	defer r.after()
	return r.Store.Start(ctx, runs)
}

func (r *meddlingRecords) Succeed(ctx context.Context, run engine.Run, file string, rows int64) (bool, error) {
	defer r.ended()
	return r.Store.Succeed(ctx, run, file, rows)
}

func nothing() {}

// TestAnIDThatIsUsedAgainAsItIsPublished: the job of the old record sets the file of the new record
// after that became PROCESSING and before the new job is in Redis. The record still ends with the
// file of its own parameters.
func TestAnIDThatIsUsedAgainAsItIsPublished(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Who, "limits: {lease: 5s, recover_after: 2s}")
	gated := newGatedSink(s.Files.Sink(), true)
	ended := make(chan struct{})
	records := &meddlingRecords{Store: s.Process.Records, before: nothing, after: nothing, ended: sync.OnceFunc(func() { close(ended) })}
	var starts atomic.Int64
	records.after = func() {
		if starts.Add(1) == 2 {
			close(gated.gate)
			<-ended
		}
	}
	s.Roles.With(records, gated)
	id := s.Records.Insert("who", e2e.WhoParameters("old", 0))
	s.Jobs.Push(id)
	<-gated.reached
	s.Records.Exec("REPLACE INTO file_download_record (id, report, parameters) VALUES (?, 'who', ?)", id, e2e.WhoParameters("new", 0))
	s.Jobs.Push(id)
	v := s.Jobs.Wait(id)[0]
	if got := s.Files.Content(v); got != e2e.WhoFile("new") {
		t.Errorf("%+v has the file %q", v, got)
	}
	s.Jobs.Idle()
	if left := e2e.Agree(s); left != "" {
		t.Error(left)
	}
}

// TestAnIDThatIsUsedTwiceAtOnce: the job of the old record starts, with the same attempt, after the
// trigger has read the new record and before it starts the new job. The record still ends with the
// file of its own parameters. The old job's file waits until the trigger has superseded the old job:
// an old job that ends between two adjacent calls of the trigger is not fenced.
func TestAnIDThatIsUsedTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Who, "limits: {lease: 1s, recover_after: 2s}")
	id := s.Records.Insert("who", e2e.WhoParameters("new", 0))
	gated := newGatedSink(s.Files.Sink(), false)
	records := &meddlingRecords{Store: s.Process.Records, ended: nothing}
	records.before = sync.OnceFunc(func() {
		if outcomes, err := s.Partitions.First().Jobs.Start(t.Context(), "", scripts.Start{
			ID: id, Attempt: 1, Parameters: []byte(`{"seconds":"0","who":"old"}`),
			Plan: scripts.Plan{Report: "who", Definition: s.Config.Reports["who"].Hash(), Timeout: time.Hour, Listeners: "one"},
		}); err != nil || outcomes[0] != scripts.OK {
			t.Error(outcomes, err)
		}
	})
	var starts atomic.Int64
	records.after = func() {
		if starts.Add(1) == 2 {
			close(gated.gate)
		}
	}
	s.Roles.With(records, gated)
	s.Jobs.Push(id)
	v := s.Jobs.Wait(id)[0]
	if got := s.Files.Content(v); got != e2e.WhoFile("new") || v.Attempt != 2 {
		t.Errorf("%+v has the file %q", v, got)
	}
	s.Jobs.Idle()
	if left := e2e.Agree(s); left != "" {
		t.Error(left)
	}
}
