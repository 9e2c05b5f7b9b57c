package files

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

// spooling returns Files with a spool, and the root of the spool.
func spooling(t *testing.T, records *read) (f *Files, root string) {
	t.Helper()
	f, _ = swept(t, records)
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	keys := testmain.Name(t)
	f.Partitions = scripts.Partitions{scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: keys + ":", Hash: keys + "-"}})}
	root = t.TempDir()
	place, err := dir.New(root)
	if err != nil {
		t.Fatal(err)
	}
	f.o.Spool = spool.New(spool.Options{Sink: place, Tag: f.o.Installation})
	return f, root
}

// TestSweepOfSegments: only segments of this installation whose jobs have ended are deleted, and only once they are old.
func TestSweepOfSegments(t *testing.T) {
	t.Parallel()
	f, root := spooling(t, &read{all: sweepRecords})
	stays := []string{
		"r/2-2-abc234=l.a=0-W=0.zst", "r/6-2-abc234=l.a=0-W=0.zst", // their jobs run
		"r/1-4-abc234=l.a=0-W=0.zst",                        // the row is from a backup
		"r/1-1-xyz234=l.a=0-W=0.zst", "r/1-1=l.a=0-W=0.zst", // not this installation's
		"r/1-1-abc234.csv", "r/1-1-abc234=l.a=0-W.zst", "notes.md", // no segments
	}
	goes := []string{
		"r/1-3-abc234=l.a=0-W=0.zst", "r/1-3-abc234=l.a=12-W2=117.zst", "r/2-1-abc234=l.a=0-W=0.zst",
		"other/3-1-abc234=l=0-W=0.zst", "r/9-1-abc234=l.a=0-W=0.zst", "r/5-2-abc234=l.a=0-W=0.zst",
		"r/.tmp/1-3-abc234=l.a=0-W=1.zst.0123456789abcdef.tmp",
	}
	for _, name := range append(stays, goes...) {
		put(t, root, name, 2*time.Hour)
	}
	young := "r/1-3-abc234=l.a=0-W=1.zst"
	put(t, root, young, time.Minute)
	if deleted, err := f.Sweep(t.Context()); err != nil || deleted != len(goes) {
		t.Errorf("Sweep = %d, %v, want %d", deleted, err, len(goes))
	}
	want := t.TempDir()
	for _, name := range append(stays, young) {
		put(t, want, name, 0)
	}
	if diff := cmp.Diff(list(t, want), list(t, root)); diff != "" {
		t.Errorf("the spool (-want +got):\n%s", diff)
	}
}

// TestSegmentsOfAJobThatHasEnded: they go with it, with those of its earlier attempts.
func TestSegmentsOfAJobThatHasEnded(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]job.State{
		"spooled": {Spooled: 7}, "retried": {Tasks: map[string]job.TaskState{"l.a": {Generation: 1}}},
		"tried again":     {Tasks: map[string]job.TaskState{"l.a": {StepState: job.StepState{Tries: 2}}}},
		"in parts":        {Tasks: map[string]job.TaskState{"l.a": {Memo: []byte("{}")}}},
		"several workers": {Fence: 2}, "started again": {},
	} {
		f, root := spooling(t, &read{})
		state.ID, state.Report, state.Attempt = "1", "r", 1
		if name == "started again" {
			state.Attempt = 2
		}
		put(t, root, "r/1-1-abc234=l.a=0-W=0.zst", 0)
		put(t, root, "r/1-3-abc234=l.a=0-W=0.zst", 0)
		put(t, root, "r/1-1-1-abc234=l.a=0-W=0.zst", 0) // of the id 1-1
		f.SweepAttempts(t.Context(), &state, state.Attempt-1, "SUCCESS")
		want := []string{"r/1-1-1-abc234=l.a=0-W=0.zst", "r/1-3-abc234=l.a=0-W=0.zst"}
		if diff := cmp.Diff(want, list(t, root)); diff != "" {
			t.Errorf("%s: the spool (-want +got):\n%s", name, diff)
		}
	}
}

// TestSweepOfKeptSegments: what is kept of a job, or reused by its running attempt, stays, however old it is; when that
// has expired, it goes.
func TestSweepOfKeptSegments(t *testing.T) {
	t.Parallel()
	records := &read{all: sweepRecords}
	f, root := spooling(t, records)
	s := f.Partitions.First()
	hash := func(key, id string, attempt int) {
		url := f.o.Spool.URL(spool.Name{Report: "r", ID: id, Attempt: 1, Listener: "l.a", Writer: "W"})
		if err := testmain.SharedRedis(t).Client().HSet(t.Context(), key, "listeners", "l.a,l.b",
			"job", fmt.Sprintf("%d FAILING 1 0 0 1/2 0 | 0 0 r/d/0", attempt), "l.a:found", "at=1 ms=1 chunks=1 rows=1 bytes=0 columns=[]",
			"l.a:at", url+" 1,1,9,00000000", "l.a:kept", "1 99999999999999").Err(); err != nil {
			t.Fatal(err)
		}
	}
	hash(s.Keys.Kept("1"), "1", 3) // has ended with attempt 3
	hash(s.Keys.Job("2"), "2", 2)  // attempt 2 runs
	hash(s.Keys.Good("9"), "9", 1) // later jobs may use it, although its record is deleted
	stays := []string{"r/1-1-abc234=l.a=0-W=0.zst", "r/2-1-abc234=l.a=0-W=0.zst", "r/9-1-abc234=l.a=0-W=0.zst"}
	goes := []string{"r/1-1-abc234=l.a=0-W=1.zst", "r/1-1-abc234=l.b=0-W=0.zst", "r/2-1-abc234=l.a=0-V=0.zst"}
	for _, name := range append(goes, stays...) {
		put(t, root, name, 2*time.Hour)
	}
	left := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, list(t, root)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	if deleted, err := f.Sweep(t.Context()); err != nil || deleted != len(goes) {
		t.Errorf("Sweep = %d, %v", deleted, err)
	}
	left("after a sweep", stays...)
	f.SweepJob(t.Context(), "r", "1", 3) // its next attempt could not start
	f.SweepAttempts(t.Context(), &job.State{ID: "2", Report: "r", Attempt: 1, Spooled: 9}, 0, "SUPERSEDED")
	left("after the end of earlier attempts", stays...)
	f.SweepAttempts(t.Context(), &job.State{ID: "2", Report: "r", Attempt: 2, Spooled: 9}, 1, "SUCCESS")
	f.SweepAttempts(t.Context(), &job.State{ID: "9", Report: "r", Attempt: 2, Spooled: 9}, 1, "FAILED")
	left("after the end of the attempt that has reused it", stays[0], stays[2])
	client := testmain.SharedRedis(t).Client()
	client.Del(t.Context(), s.Keys.Kept("1"), s.Keys.Good("9"))
	if deleted, err := f.Sweep(t.Context()); err != nil || deleted != 2 {
		t.Errorf("Sweep = %d, %v", deleted, err)
	}
	left("after it has expired")
}

// TestSegmentsThatTheEndKeeps: a job that fails keeps those that its done listeners list, and no other.
func TestSegmentsThatTheEndKeeps(t *testing.T) {
	t.Parallel()
	for status, want := range map[string][]string{
		"FAILED": {"r/1-1-abc234=l.a=0-W=0.zst"}, "CANCELLED": {"r/1-1-abc234=l.a=0-W=0.zst"}, "SUCCESS": nil, "DELETED": nil,
	} {
		f, root := spooling(t, &read{})
		url := f.o.Spool.URL(spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "l.a", Writer: "W"})
		state := &job.State{
			ID: "1", Report: "r", Attempt: 1, Spooled: 7, Keep: job.Keep{For: time.Hour},
			Tasks: map[string]job.TaskState{"l.a": {Done: true, At: url + " 1,1,9,00000000"}, "l.b": {At: strings.ReplaceAll(url, "l.a", "l.b") + " 1,1,9,00000000"}},
		}
		for _, name := range []string{"r/1-1-abc234=l.a=0-W=0.zst", "r/1-1-abc234=l.a=1-W=0.zst", "r/1-1-abc234=l.b=0-W=0.zst"} {
			put(t, root, name, 0)
		}
		f.SweepAttempts(t.Context(), state, 0, status)
		if diff := cmp.Diff(want, list(t, root)); diff != "" {
			t.Errorf("%s: the spool (-want +got):\n%s", status, diff)
		}
	}
}

// asBucket is a sink that needs as long as a bucket to delete an object.
type asBucket struct{ sink.Sink }

func (s asBucket) Remove(ctx context.Context, name string) error {
	if err := step.Wait(ctx, 50*time.Millisecond); err != nil {
		return err
	}
	return s.Sink.Remove(ctx, name)
}

// TestManySegmentsOfAJobThatHasEnded: those of a large job go with it, too.
func TestManySegmentsOfAJobThatHasEnded(t *testing.T) {
	t.Parallel()
	f, root := spooling(t, &read{})
	f.o.Spool = spool.New(spool.Options{Sink: asBucket{f.o.Spool.Sink()}, Tag: f.o.Installation})
	for n := range 300 {
		put(t, root, fmt.Sprintf("r/1-1-abc234=l.a=0-W=%d.zst", n), 0)
	}
	f.SweepAttempts(t.Context(), &job.State{ID: "1", Report: "r", Attempt: 1, Spooled: 7}, 0, "SUCCESS")
	if left := list(t, root); len(left) > 0 {
		t.Errorf("%d segments are left", len(left))
	}
}

// spoolAway is a spool that does not answer.
type spoolAway struct{ sink.Sink }

var errAway = errors.New("the spool is away")

func (spoolAway) List(context.Context, string) iter.Seq2[sink.Listed, error] {
	return func(yield func(sink.Listed, error) bool) { yield(sink.Listed{}, errAway) }
}

// deletions are those of a table that has been swept for long.
type deletions struct{}

func (deletions) Deleted(_ context.Context, ids []string) (map[string]bool, error) {
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	return gone, nil
}

func (deletions) Pointed(context.Context, []string) (map[string]bool, error) { return nil, nil }

func (deletions) Unbroken(context.Context, time.Duration) (time.Duration, error) {
	return 1000 * time.Hour, nil
}

// TestSweepWithoutItsSpool: the files of deleted rows go nevertheless, and the sweep fails, so that it is repeated.
func TestSweepWithoutItsSpool(t *testing.T) {
	t.Parallel()
	f, root := swept(t, &read{all: sweepRecords})
	f.o.Deletions, f.o.Spool = deletions{}, spool.New(spool.Options{Sink: spoolAway{f.o.Sink}, Tag: f.o.Installation})
	put(t, root, "r/9-1-abc234.csv", 1000*time.Hour)
	deleted, err := f.Sweep(t.Context())
	if !errors.Is(err, errAway) || deleted != 1 || len(list(t, root)) > 0 {
		t.Errorf("%d, %v, and %q is left", deleted, err, list(t, root))
	}
}

// TestSweepOfProbes: what interrupted checks left in the sink or the spool is deleted once it is old, and a report may
// have the name of their folder.
func TestSweepOfProbes(t *testing.T) {
	t.Parallel()
	f, spool := spooling(t, &read{all: sweepRecords})
	root := strings.TrimPrefix(f.o.Sink.URL(""), "file://")
	const random = "abcdefghijklmnopqrstuvwxyz"
	stays := []string{"fanfold-check/1-4-abc234.csv", "fanfold-check/2-2-abc234=l=0-W=0.zst", "r/" + random, "fanfold-check-" + random + ".csv"}
	goes := []string{"fanfold-check-" + random, "fanfold-check/" + random, "fanfold-check/.tmp/" + random[1:] + "a.0123456789abcdef.tmp"}
	young := sink.NewProbe(sink.ProbeFolder)
	for _, root := range []string{root, spool} {
		for _, name := range append(stays, goes...) {
			put(t, root, name, 2*time.Hour)
		}
		put(t, root, young, time.Minute)
	}
	if deleted, err := f.Sweep(t.Context()); err != nil || deleted != 2*len(goes) {
		t.Errorf("Sweep = %d, %v, want %d", deleted, err, 2*len(goes))
	}
	want := t.TempDir()
	for _, name := range append(stays, young) {
		put(t, want, name, 0)
	}
	for _, root := range []string{root, spool} {
		if diff := cmp.Diff(list(t, want), list(t, root)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", root, diff)
		}
	}
}
