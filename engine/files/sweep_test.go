package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink/dir"
)

// read are records for tests of who reads them.
type read struct {
	engine.Records
	all   map[string]engine.Record
	reads int
	most  int // ids in one of them
	fail  error
}

func (r *read) Read(_ context.Context, ids []string) (map[string]engine.Record, error) {
	r.reads, r.most = r.reads+1, max(r.most, len(ids))
	return r.all, r.fail
}

// swept is a directory with an engine that sweeps it.
func swept(t *testing.T, records *read) (f *Files, root string) {
	t.Helper()
	root = t.TempDir()
	place, err := dir.New(root)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine.Engine{Options: engine.Options{Records: records, Log: slog.New(slog.DiscardHandler)}}
	return &Files{e, Options{Installation: "abc234", Sink: place, Formats: format.Kinds{format.CSV}, OrphanAge: time.Hour}}, root
}

func put(t *testing.T, root, name string, age time.Duration) {
	t.Helper()
	path, at := filepath.Join(root, name), time.Now().Add(-age)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, root string) (names []string) {
	t.Helper()
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

var sweepRecords = map[string]engine.Record{
	"1": {ID: "1", Status: report.Success, Attempt: 3},
	"2": {ID: "2", Status: report.Processing, Attempt: 2},
	"3": {ID: "3", Status: report.Failed, Attempt: 1},
	"4": {ID: "4", Status: report.Success, Attempt: 2, File: "gs://elsewhere/r/4-2-abc234.csv"},
	"5": {ID: "05", Status: report.Failed, Attempt: 2},
	"6": {ID: "6", Status: report.Pending, Attempt: 2},
}

// TestSweep: only what no record points to, of this installation, is deleted, and only
// once it is old.
func TestSweep(t *testing.T) {
	t.Parallel()
	records := &read{all: map[string]engine.Record{}}
	f, root := swept(t, records)
	for id, r := range sweepRecords {
		if id == "1" {
			r.File = f.o.Sink.URL("r/1-3-abc234.csv")
		} else if id == "2" || id == "6" {
			r.File = f.o.Sink.URL("r/" + id + "-1-abc234.csv")
		}
		records.all[id] = r
	}
	stays := []string{
		"r/1-3-abc234.csv", "r/1-3-abc234.csv.manifest.json", // the record's file
		"r/2-1-abc234.csv", "r/2-1-abc234.csv.manifest.json", // it runs again, and has its file until it ends
		"r/2-2-abc234.csv", "r/.tmp/2-2-abc234.csv.0123456789abcdef.tmp", // is being made
		"r/6-1-abc234.csv.gz.x", "r/6-2-abc234.csv", "r/6-1-abc234.csv",
		"r/1-4-abc234.csv",                     // the record does not know of it: it comes from a backup
		"r/4-1-abc234.csv", "r/4-2-abc234.csv", // the record's file is in another sink
		"r/5-1-abc234.csv", "r/9-1-abc234.csv", "r/.tmp/9-1-abc234.csv.0123456789abcdef.tmp", // no such row
		"r/1-1-xyz234.csv", "r/1-1.csv", "r/.tmp/1-1-xyz234.csv.0123456789abcdef.tmp", // not this installation's
		"r/1-1-abc234.txt", "r/1-1-abc234.csv.bak", "r/notes.md", "1-1-abc234.csv", "r/.tmp/1-1-abc234.csv.1.tmp", // not Fanfold's
		"r/deeper/1-1-abc234.csv", ".hidden/1-1-abc234.csv", "r/.1-1-abc234.csv",
	}
	goes := []string{
		"r/1-1-abc234.csv", "r/1-1-abc234.csv.manifest.json", "r/1-2-abc234.csv.gz", "r/1-2-abc234.csv.gz.manifest.json",
		"r/1-3-abc234.csv.gz", "other/1-2-abc234.csv", "r/.tmp/1-3-abc234.csv.0123456789abcdef.tmp",
		"r/.tmp/1-3-abc234.csv.manifest.json.0123456789abcdef.tmp", "r/.tmp/1-1-abc234.csv.0123456789abcdef.tmp",
		"r/2-1-abc234.csv.gz", "r/.tmp/2-1-abc234.csv.0123456789abcdef.tmp",
		"r/3-1-abc234.csv", "r/3-1-abc234.csv.manifest.json", "r/6-1-abc234.csv.gz",
	}
	for _, name := range append(stays, goes...) {
		put(t, root, name, 2*time.Hour)
	}
	young := []string{"r/1-2-abc234.csv", "r/3-1-abc234.csv.gz"}
	for _, name := range young {
		put(t, root, name, time.Minute)
	}
	for call, want := range []int{len(goes), 0} {
		if n, err := f.Sweep(t.Context()); err != nil || n != want {
			t.Errorf("call %d: %d files are deleted, not %d, %v", call, n, want, err)
		}
		want := slices.Sorted(slices.Values(append(stays, young...)))
		if diff := cmp.Diff(want, list(t, root)); diff != "" {
			t.Errorf("after call %d (-want +got):\n%s", call, diff)
		}
	}
	f.o.Installation, f.o.OrphanAge = "", 0
	if n, err := f.Sweep(t.Context()); err != nil || n != 0 {
		t.Errorf("without a tag %d files are deleted, %v", n, err)
	}
}

// TestSweepOfManyFiles compares them with their records page by page.
func TestSweepOfManyFiles(t *testing.T) {
	t.Parallel()
	records := &read{all: map[string]engine.Record{}}
	f, root := swept(t, records)
	const jobs = 2*sweepPage + 100
	for i := range jobs {
		id := fmt.Sprint(i)
		records.all[id] = engine.Record{ID: id, Status: report.Success, Attempt: 2, File: f.o.Sink.URL("r/" + id + "-2-abc234.csv")}
		for attempt := range 2 {
			put(t, root, fmt.Sprintf("r/%d-%d-abc234.csv", i, attempt+1), 2*time.Hour)
		}
	}
	if n, err := f.Sweep(t.Context()); err != nil || n != jobs {
		t.Errorf("%d files are deleted, not %d, %v", n, jobs, err)
	}
	if n := len(list(t, root)); n != jobs {
		t.Errorf("%d files are left, not %d", n, jobs)
	}
	if records.most > sweepPage || records.reads > 6 {
		t.Errorf("%d reads of up to %d records", records.reads, records.most)
	}
}

// TestSweepJob deletes what a job left, however young, and nothing of the attempts that
// are not meant. That it fails is left to the daily sweep.
func TestSweepJob(t *testing.T) {
	t.Parallel()
	records := &read{all: map[string]engine.Record{
		"1":   {ID: "1", Status: report.Failed, Attempt: 3},
		"1-2": {ID: "1-2", Status: report.Failed, Attempt: 3},
	}, fail: errors.New("away")}
	f, root := swept(t, records)
	stays := []string{
		"other/1-1-abc234.csv",                                               // of another report
		"r/.tmp/1-2-3-abc234.csv.0123456789abcdef.tmp", "r/1-2-1-abc234.csv", // of job 1-2
		"r/1-3-abc234.csv", // what lies there is not the job's: its last attempt made no file
	}
	goes := []string{"r/.tmp/1-3-abc234.csv.0123456789abcdef.tmp", "r/1-1-abc234.csv", "r/1-2-abc234.csv.gz", "r/1-2-abc234.csv.gz.manifest.json"}
	for _, name := range append(goes, stays...) {
		put(t, root, name, 0)
	}
	f.SweepAttempts(t.Context(), &job.State{ID: "1", Attempt: 1, Fence: 1, Report: "r"}, 2, "FAILED")
	if records.reads > 0 {
		t.Error("a first attempt with one worker leaves nothing")
	}
	state := &job.State{ID: "1", Attempt: 3, Fence: 1, Report: "r"}
	f.SweepAttempts(t.Context(), state, 2, "FAILED")
	if n := len(list(t, root)); n != len(stays)+len(goes) || records.reads != 1 {
		t.Errorf("%d files are left after %d reads", n, records.reads)
	}
	records.fail = nil
	f.SweepAttempts(t.Context(), state, 2, "FAILED")
	if diff := cmp.Diff(stays, list(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
