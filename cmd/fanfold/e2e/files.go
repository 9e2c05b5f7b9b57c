package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

// folder is that of a stack's files, in its folder.
const folder = "files"

// Files are the files of a stack.
type Files struct {
	testing.TB
	dir     string
	records *record.Store
}

// Tag returns the tag in the names of this stack's files; empty without the tables.
func (f Files) Tag() string {
	f.Helper()
	tag, err := f.records.Install(f.Context())
	if err != nil && !errors.Is(err, recovery.ErrNoTables) {
		f.Fatal(err)
	}
	return tag
}

// Named returns the name of an uncompressed file of this stack.
func (f Files) Named(report, id string, attempt int64) string {
	f.Helper()
	return files.Name{Report: report, ID: id, Attempt: attempt, Tag: f.Tag(), Ending: ".csv"}.String()
}

// Content returns the file of a job that succeeded.
func (f Files) Content(v inspect.Job) string {
	f.Helper()
	if v.Status != report.Success {
		f.Fatalf("job %s is %s: %s", v.ID, v.Status, v.Error)
	}
	b, err := os.ReadFile(strings.TrimPrefix(v.File, "file://"))
	if err != nil {
		f.Fatal(err)
	}
	return string(b)
}

// Sink opens the folder of the files as a sink.
func (f Files) Sink() sink.Sink {
	f.Helper()
	d, err := dir.New(filepath.Join(f.dir, folder))
	if err != nil {
		f.Fatal(err)
	}
	if err := d.Make(); err != nil {
		f.Fatal(err)
	}
	return d
}

// None fails the test if the sink has a file of the report.
func (f Files) None(report string) {
	f.Helper()
	found, err := filepath.Glob(filepath.Join(f.dir, folder, report, "[^.]*"))
	if err != nil || len(found) > 0 {
		f.Errorf("in the sink: %v %v", found, err)
	}
}

// All returns the files and manifests of all reports.
func (f Files) All() []string {
	f.Helper()
	found, err := filepath.Glob(filepath.Join(f.dir, folder, "*", "[^.]*"))
	if err != nil {
		f.Fatal(err)
	}
	return found
}

// Agree describes the differences between the records of stacks and the sink that they share. A record
// that is SUCCESS or PARTIAL points to a complete file with its manifest, other records point to no file,
// and the sink has no other files.
func Agree(stacks ...*Stack) string {
	wanted := map[string]bool{}
	for _, s := range stacks {
		s.Helper()
		records, err := s.Process.Records.List(s.Context(), record.Filter{}, 10000)
		if err != nil {
			s.Fatal(err)
		}
		for _, r := range records {
			if skipped := r.Rows != nil && *r.Rows == 0; r.Status.HasFile() != (r.File != "") && !skipped {
				return fmt.Sprintf("record %s is %s and has the file %q", r.ID, r.Status, r.File)
			}
			if r.File == "" {
				continue
			}
			file := strings.TrimPrefix(r.File, "file://")
			for _, name := range []string{file, file + ".manifest.json"} {
				if _, err := os.Stat(name); err != nil {
					return fmt.Sprintf("record %s is %s: %v", r.ID, r.Status, err)
				}
				if wanted[name] {
					return "two records point to " + name
				}
				wanted[name] = true
			}
		}
	}
	for _, name := range stacks[0].Files.All() {
		if !wanted[name] {
			return "no record points to " + name
		}
	}
	return ""
}

// FirstDifference shows the first difference of two files, with a few lines around it.
func FirstDifference(want, got string) string {
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			diff := cmp.Diff(a[i:min(i+3, len(a))], b[i:min(i+3, len(b))])
			return fmt.Sprintf("from line %d of %d and %d:\n%s", i+1, len(a), len(b), diff)
		}
	}
	return fmt.Sprintf("%d lines and %d", len(a), len(b))
}
