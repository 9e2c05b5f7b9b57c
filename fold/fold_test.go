package fold

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// foldReport joins payments with customers and refunds.
func foldReport(customers, refunds report.JoinType) *report.Report {
	return &report.Report{
		Stages: []report.Stage{
			{Listeners: []report.Listener{{Name: "payments", Columns: []string{"amount", "unused", "customer", "text"}}}},
			{Listeners: []report.Listener{{Name: "customers", Columns: []string{"id", "name"}}, {Name: "refunds", Columns: []string{"cid", "at"}}}},
		},
		Join: report.Join{Keys: []string{"customer"}, Listeners: []report.Joined{
			{Listener: "payments", Keys: []string{"customer"}},
			{Listener: "customers", Type: customers, Keys: []string{"id"}},
			{Listener: "refunds", Type: refunds, Keys: []string{"cid"}},
		}},
		File: report.File{Format: "csv", Columns: []report.FileColumn{
			column("Customer", "", "customer"), column("Name, or \"alias\"", "customers", "name"), column("text", "payments", "text"),
			column("amount", "payments", "amount"), column("refunded", "refunds", "at"), column("id", "customers", "id"),
		}},
	}
}

func foldDatasets(t *testing.T) map[string]Dataset {
	return map[string]Dataset{
		"payments": datasettest.Of(t, datasettest.Columns("amount", "decimal", "customer", "integer", "text", "text"), 2,
			[]any{"10.00", 1, "plain"},
			[]any{"20.50", 2, "comma, \"quote\""},
			[]any{nil, nil, "nobody\r\nnowhere"},
			[]any{"-0.10", 1, "é 😀"},
			[]any{"1.00", 9, ""}),
		"customers": datasettest.Of(t, datasettest.Columns("id", "text", "name", "text"), 2,
			[]any{"01", "Ann"}, []any{"2", "Bob"}, []any{"3", "Cid"}, []any{"1", "Ann again"}, []any{nil, "none"}, []any{"x", "text"}),
		"refunds": datasettest.Of(t, datasettest.Columns("cid", "float", "at", "datetime"), 2,
			[]any{2.0, "2024-01-01 10:00:00"}, []any{3.0, nil}, []any{4.0, "2024-01-02 10:00:00"}),
	}
}

// folded describes a file and how its datasets met.
type folded struct {
	format.Made
	Matches []Match
}

// foldTo writes the file of a report. The budget limits the index, too, so a small budget makes
// Fold join the first dataset in several passes.
func foldTo(r *report.Report, sets map[string]Dataset, w io.Writer, b Budget) (folded, error) {
	return foldWith(&Plans{}, r, sets, w, b)
}

func foldWith(plans *Plans, r *report.Report, sets map[string]Dataset, w io.Writer, b Budget) (folded, error) {
	p, err := plans.Get(r, sets, nil)
	if err != nil {
		return folded{}, err
	}
	defer plans.Put(p)
	f, err := format.CSV.Begin(&r.File, p.Columns(), format.Title{}, w)
	if err != nil {
		return folded{}, err
	}
	defer f.Abort()
	matches, err := p.Fold(context.Background(), f, b)
	if err != nil {
		return folded{}, err
	}
	made, err := f.Close()
	return folded{made, matches}, err
}

// TestFoldGolden writes the bytes that users see.
var update = flag.Bool("update", false, "write the golden files anew")

func TestFoldGolden(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name               string
		customers, refunds report.JoinType
		rows               int64
	}{
		{"inner", report.Inner, report.Inner, 1},
		{"left", report.Left, report.Left, 7},
		{"full", report.Full, report.Full, 11},
		{"full_inner", report.Full, report.Inner, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			made, err := foldTo(foldReport(test.customers, test.refunds), foldDatasets(t), &out, Budget{})
			if err != nil {
				t.Fatal(err)
			}
			if made.Rows != test.rows {
				t.Errorf("%d rows, want %d", made.Rows, test.rows)
			}
			file := "testdata/fold_" + test.name + ".csv"
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFoldOfOneListener(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		join report.Join
		csv  []report.FileColumn
		want string
	}{
		{"two columns", report.Join{Listeners: []report.Joined{{Listener: "a"}}}, []report.FileColumn{column("B", "a", "b"), column("A", "a", "a")}, "B,A\r\nx,1\r\n,1\r\n,\r\n"},
		{"one column", report.Join{Listeners: []report.Joined{{Listener: "a"}}}, []report.FileColumn{column("B", "a", "b")}, "B\r\nx\r\n\"\"\r\n\"\"\r\n"},
		{"a key in the file", report.Join{Keys: []string{"k"}, Listeners: []report.Joined{{Listener: "a", Keys: []string{"a"}}}},
			[]report.FileColumn{column("k", "", "k")}, "k\r\n1\r\n1\r\n\"\"\r\n"},
		{"a key that is not in the file", report.Join{Keys: []string{"k"}, Listeners: []report.Joined{{Listener: "a", Keys: []string{"not there"}}}},
			[]report.FileColumn{column("A", "a", "a")}, "A\r\n1\r\n1\r\n\"\"\r\n"},
		{"empty label", report.Join{Listeners: []report.Joined{{Listener: "a"}}}, []report.FileColumn{column("", "a", "a")}, "\"\"\r\n1\r\n1\r\n\"\"\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := datasettest.Of(t, datasettest.Columns("a", "integer", "b", "text"), 1, []any{1, "x"}, []any{1, ""}, []any{nil, nil})
			made, err := foldTo(&report.Report{Join: test.join, File: report.File{Format: "csv", Columns: test.csv}}, map[string]Dataset{"a": a}, &out, Budget{})
			if err != nil || made.Rows != 3 {
				t.Errorf("%d rows, error %v", made.Rows, err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFoldWithoutRows(t *testing.T) {
	t.Parallel()
	datasets := map[string]Dataset{
		"payments":  &datasettest.Memory{Of: datasettest.Columns("amount", "decimal", "customer", "integer", "text", "text")},
		"customers": datasettest.Of(t, datasettest.Columns("id", "text", "name", "text"), 1),
		"refunds":   &datasettest.Memory{Of: datasettest.Columns("cid", "float", "at", "datetime")},
	}
	var out bytes.Buffer
	made, err := foldTo(foldReport(report.Full, report.Full), datasets, &out, Budget{})
	if want := "Customer,\"Name, or \"\"alias\"\"\",text,amount,refunded,id\r\n"; err != nil || made.Rows != 0 || out.String() != want {
		t.Errorf("%d rows, error %v, output %q", made.Rows, err, out.String())
	}
}

// fullDisk takes some bytes and then fails.
type fullDisk struct{ free, writes int }

var errDisk = errors.New("disk full")

func (d *fullDisk) Write(p []byte) (int, error) {
	d.writes++
	if d.free -= len(p); d.free < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

// TestFoldEndsEarly checks that nothing is read after an error.
func TestFoldEndsEarly(t *testing.T) {
	t.Parallel()
	columns := datasettest.Columns("a", "text")
	var rows [][]any
	for range 100 {
		rows = append(rows, []any{strings.Repeat("x", 10_000)})
	}
	r := &report.Report{Join: report.Join{Listeners: []report.Joined{{Listener: "a"}}}, File: report.File{Format: "csv", Columns: []report.FileColumn{column("a", "a", "a")}}}
	for _, free := range []int{0, 70_000} {
		a := datasettest.Of(t, columns, 1, rows...)
		disk := &fullDisk{free: free}
		if _, err := foldTo(r, map[string]Dataset{"a": a}, disk, Budget{}); !errors.Is(err, errDisk) {
			t.Errorf("error %v", err)
		}
		// Chunks are prefetched, and two buffers of 64 KB are written behind.
		if limit := free/10_000 + 2*7 + 12; a.Calls.Load() > int64(limit) {
			t.Errorf("%d chunks were read, want at most %d", a.Calls.Load(), limit)
		}
	}
	// The last bytes fail when they are flushed.
	if _, err := foldTo(r, map[string]Dataset{"a": datasettest.Of(t, columns, 1, []any{"x"})}, &fullDisk{}, Budget{}); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	j := foldReport(report.Inner, report.Inner)
	datasets := foldDatasets(t)
	datasets["customers"].(*datasettest.Memory).Err = errDisk
	if _, err := foldTo(j, datasets, io.Discard, Budget{}); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	if datasets["payments"].(*datasettest.Memory).Calls.Load() > 0 || datasets["refunds"].(*datasettest.Memory).Calls.Load() > 0 {
		t.Error("other datasets were read after one had failed")
	}
}

// column is a column of a file; without a listener it shows a key of the join.
func column(label, listener, name string) report.FileColumn {
	return report.FileColumn{Label: label, Listener: listener, Column: name}
}
