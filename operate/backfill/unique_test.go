package backfill

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/installation"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// TestCreateUnique creates one record for the same parameters, and another one if that was deleted.
func TestCreateUnique(t *testing.T) {
	t.Parallel()
	b := installation.New(t, "")
	_, err := record.MigrateTables(t.Context(), b.DB, "")
	b.OK(err)
	c := b.Config
	jobs := operate.New(inspect.New(inspect.Options{
		Config: inspect.Config{Reports: c.Reports, Limits: c.Limits, Records: c.Records}, Scripts: b.Scripts, Records: b.Records,
	})).Jobs
	ctx := audit.With(t.Context(), &audit.Actor{Who: "test"})
	create := func() (string, bool, error) { return createUnique(ctx, jobs, "two", []byte("{}")) }
	var group sync.WaitGroup
	var ids [8]string
	var created atomic.Int64
	for i := range ids {
		group.Go(func() {
			id, before, err := create()
			if ids[i] = id; err != nil {
				t.Error(err)
			}
			if !before {
				created.Add(1)
			}
		})
	}
	group.Wait()
	if slices.Sort(ids[:]); ids[0] != ids[7] || created.Load() != 1 {
		t.Errorf("%q, %d were created", ids, created.Load())
	}
	for range 2 {
		_, err := b.DB.ExecContext(t.Context(), "DELETE FROM file_download_record")
		b.OK(err)
		one, before, err := create()
		b.OK(err)
		two, again, err := create()
		b.OK(err)
		if one == ids[0] || before || two != one || !again {
			t.Errorf("%s %v, then %s %v", one, before, two, again)
		}
	}
	if _, _, err := createUnique(ctx, jobs, "none", []byte("{}")); !errors.Is(err, fault.Input) {
		t.Error(err)
	}
}

// TestFormOf: parameters are equal if they have the same values. Relative dates are equal to themselves alone.
func TestFormOf(t *testing.T) {
	t.Parallel()
	r := &report.Report{Parameters: []report.Parameter{
		{Name: "day", Type: report.ParamDate}, {Name: "n", Type: report.ParamInteger, Default: new("7")},
		{Name: "since", Type: report.ParamDate, Default: new(`"today-1d"`)},
	}}
	const form = `{"day":"2024-03-01","n":7,"since":"today-1d"}`
	for raw, want := range map[string]string{
		`{"day": "2024-03-01"}`: form, `{"n": "007", "day":"2024-03-01", "since": "today-1d"}`: form,
		`{"day": "today"}`: `{"day":"today","n":7,"since":"today-1d"}`,
		`{}`:               "", `{"day": "2024-03-01", "x": 1}`: "", `[]`: "",
	} {
		if got, ok := formOf(r, []byte(raw), time.Now()); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %v", raw, got, ok)
		}
	}
}

// TestConstants are those that every record with equal parameters has as texts.
func TestConstants(t *testing.T) {
	t.Parallel()
	r := &report.Report{Parameters: []report.Parameter{
		{Name: "day", Type: report.ParamDate}, {Name: "n", Type: report.ParamInteger}, {Name: "s", Type: report.ParamString},
		{Name: "m", Type: report.ParamInteger, Default: new("7")}, {Name: "d", Type: report.ParamString, Default: new(`"\u0061"`)},
		{Name: "f", Type: report.ParamDecimal}, {Name: "b", Type: report.ParamBoolean}, {Name: "l", Type: report.ParamString, List: true},
		{Name: "paid", Type: report.ParamDate},
	}}
	const rest = `, "f": "1.50", "b": true, "l": ["x"], "paid": "today", "day": "2024-01-01"}`
	for raw, want := range map[string]map[string][]string{
		`{"n": 1, "s": "7"` + rest:                            {"n": {"1"}, "s": {"7"}},
		`{"n": "-01", "s": "é\n", "m": "07", "d": "a"` + rest: {"n": {"-1"}, "s": {"é\n"}},
		`{"n": 1, "s": "", "m": 8, "d": "b"` + rest:           {"n": {"1"}, "s": {""}, "m": {"8"}, "d": {"b"}},
	} {
		b := &Backfill{Report: r, Dates: []string{"day"}}
		if diff := cmp.Diff(want, b.constants(&Run{Parameters: []byte(raw)})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}
