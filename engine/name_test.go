package engine

import (
	"slices"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestNames: a file has the name and type of its report, and where that is not known,
// all names that it can have are looked at.
func TestNames(t *testing.T) {
	t.Parallel()
	plain, packed := &report.Report{Name: "r"}, &report.Report{Name: "r", CSV: report.CSV{Gzip: true}}
	e := &Engine{o: Options{Installation: "abc234"}, definitions: map[string]*report.Report{"p": plain, "z": packed}}
	for definition, want := range map[string][]string{
		"p": {"r/1-2-abc234.csv"}, "z": {"r/1-2-abc234.csv.gz"}, "other": {"r/1-2-abc234.csv", "r/1-2-abc234.csv.gz"},
	} {
		if got := e.objectNames(&scripts.State{ID: "1", Attempt: 2, Report: "r", Definition: definition}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", definition, got, want)
		}
	}
	if a, b := contentType(plain), contentType(packed); a != "text/csv; charset=utf-8" || b != "application/gzip" {
		t.Errorf("%s, %s", a, b)
	}
}

// TestParseFileName: a name says one thing only, whatever the ids are that are in it.
func TestParseFileName(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"", "abc234", NewTag()} {
		for _, id := range []string{"1", "1-2", "1-abc234", "a-1-abc234", "-", "--", "1-2-3", "1111-1-abc234-2"} {
			for _, attempt := range []int64{1, 222222, 1 << 62} {
				for _, gzip := range []bool{false, true} {
					want := FileName{Report: "r.x", ID: id, Attempt: attempt, Tag: tag, Gzip: gzip}
					if got, ok := ParseFileName(want.String()); !ok || got != want {
						t.Errorf("%s: %+v", want, got)
					}
				}
			}
		}
	}
	for _, name := range []string{"", "r", "1-1.csv", "r/1.csv", "r/1-0.csv", "r/1-01.csv", "r/1-1-.csv", "r/1-1-abc23.csv",
		"r/1-1-ABC234.csv", "r/1-1-abl234.csv", "r/1-1.csv.manifest.json", "r/1-1.csvx", "r/1-99999999999999999999.csv", "r/1 -1.csv"} {
		if got, ok := ParseFileName(name); ok {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

// TestOwns: a file is a record's only where all of its name says so.
func TestOwns(t *testing.T) {
	t.Parallel()
	e := &Engine{o: Options{Installation: "abc234"}}
	for name, want := range map[string]int64{
		"r/1-3-abc234.csv": 3, "other/1-3-abc234.csv.gz": 3,
		"r/2-3-abc234.csv": 0, "r/1-3.csv": 0, "r/1-3-xyz234.csv": 0, "r/0-1-3-abc234.csv": 0, "r/1-3-abc234.csv.manifest.json": 0,
	} {
		if attempt, ok := e.owns(name, "1"); ok != (want > 0) || ok && attempt != want {
			t.Errorf("%s: %d %v", name, attempt, ok)
		}
	}
	if _, ok := (&Engine{}).owns("r/1-3.csv", "1"); ok {
		t.Error("without a tag nothing is certain")
	}
}
