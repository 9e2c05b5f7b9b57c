package files

import (
	"slices"
	"testing"

	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestNames: a file has the name and type of its report.
func TestNames(t *testing.T) {
	t.Parallel()
	formats := format.Kinds{format.CSV, {Format: report.Format{Name: "other"}, Extension: ".oth", ContentType: "application/other"}}
	f := &Files{o: Options{Installation: "abc234", Formats: formats}}
	state := &job.State{ID: "1", Attempt: 2, Report: "r"}
	var all []string
	for _, test := range []struct {
		file       report.File
		name, kind string
	}{
		{report.File{Format: "csv"}, "r/1-2-abc234.csv", "text/csv; charset=utf-8"},
		{report.File{Format: "csv", Compress: report.Gzip}, "r/1-2-abc234.csv.gz", "application/gzip"},
		{report.File{Format: "csv", Compress: report.Zip}, "r/1-2-abc234.csv.zip", "application/zip"},
		{report.File{Format: "other"}, "r/1-2-abc234.oth", "application/other"},
		{report.File{Format: "other", Compress: report.Gzip}, "r/1-2-abc234.oth.gz", "application/gzip"},
		{report.File{Format: "other", Compress: report.Zip}, "r/1-2-abc234.oth.zip", "application/zip"},
	} {
		r := &report.Report{Name: "r", File: test.file}
		kind := formats.ContentType(formats.Ending(&r.File))
		if got := f.name(state, r); got != test.name || kind != test.kind {
			t.Errorf("%s of type %s, want %s of type %s", got, kind, test.name, test.kind)
		}
		all = append(all, test.name)
	}
	if got := f.names(state); !slices.Equal(got, all) {
		t.Errorf("%v, want %v", got, all)
	}
}

// TestParseFileName: a name says one thing only, whatever the ids are that are in it.
func TestParseFileName(t *testing.T) {
	t.Parallel()
	endings := format.Kinds{format.CSV}.Endings()
	for _, tag := range []string{"", "abc234", NewTag()} {
		for _, id := range []string{"1", "1-2", "1-abc234", "a-1-abc234", "-", "--", "1-2-3", "1111-1-abc234-2"} {
			for _, attempt := range []int64{1, 222222, 1 << 62} {
				for _, ending := range endings {
					want := Name{Report: "r.x", ID: id, Attempt: attempt, Tag: tag, Ending: ending}
					if got, ok := Parse(want.String(), endings); !ok || got != want {
						t.Errorf("%s: %+v", want, got)
					}
				}
			}
		}
	}
	for _, name := range []string{"", "r", "1-1.csv", "r/1.csv", "r/1-0.csv", "r/1-01.csv", "r/1-1-.csv", "r/1-1-abc23.csv",
		"r/1-1-ABC234.csv", "r/1-1-abl234.csv", "r/1-1.csv.manifest.json", "r/1-1.csvx", "r/1-99999999999999999999.csv", "r/1 -1.csv"} {
		if got, ok := Parse(name, endings); ok {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
