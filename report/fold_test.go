package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foldReport joins payments with customers and refunds.
func foldReport(customers, refunds JoinType) *Report {
	return &Report{
		Stages: []Stage{
			{Listeners: []Listener{{Name: "payments", Columns: []string{"amount", "unused", "customer", "text"}}}},
			{Listeners: []Listener{{Name: "customers", Columns: []string{"id", "name"}}, {Name: "refunds", Columns: []string{"cid", "at"}}}},
		},
		Join: Join{Keys: []string{"customer"}, Listeners: []Joined{
			{Listener: "payments", Keys: []string{"customer"}},
			{Listener: "customers", Type: customers, Keys: []string{"id"}},
			{Listener: "refunds", Type: refunds, Keys: []string{"cid"}},
		}},
		CSV: CSV{Columns: []CSVColumn{
			{"Customer", "", "customer"}, {"Name, or \"alias\"", "customers", "name"}, {"text", "payments", "text"},
			{"amount", "payments", "amount"}, {"refunded", "refunds", "at"}, {"id", "customers", "id"},
		}},
	}
}

func foldDatasets(t *testing.T) map[string]Dataset {
	return map[string]Dataset{
		"payments": datasetOf(t, columnsOf("amount", "decimal", "customer", "integer", "text", "text"), 2,
			[]any{"10.00", 1, "plain"},
			[]any{"20.50", 2, "comma, \"quote\""},
			[]any{nil, nil, "nobody\r\nnowhere"},
			[]any{"-0.10", 1, "é 😀"},
			[]any{"1.00", 9, ""}),
		"customers": datasetOf(t, columnsOf("id", "text", "name", "text"), 2,
			[]any{"01", "Ann"}, []any{"2", "Bob"}, []any{"3", "Cid"}, []any{"1", "Ann again"}, []any{nil, "none"}, []any{"x", "text"}),
		"refunds": datasetOf(t, columnsOf("cid", "float", "at", "datetime"), 2,
			[]any{2.0, "2024-01-01 10:00:00"}, []any{3.0, nil}, []any{4.0, "2024-01-02 10:00:00"}),
	}
}

// TestFoldGolden writes the bytes that users see.
var update = flag.Bool("update", false, "write the golden files anew")

func TestFoldGolden(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name               string
		customers, refunds JoinType
		rows               int64
	}{
		{"inner", Inner, Inner, 1},
		{"left", Left, Left, 7},
		{"full", Full, Full, 11},
		{"full_inner", Full, Inner, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			made, err := foldReport(test.customers, test.refunds).Fold(foldDatasets(t), &out, Room{})
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
		join Join
		csv  []CSVColumn
		want string
	}{
		{"two columns", Join{Listeners: []Joined{{Listener: "a"}}}, []CSVColumn{{"B", "a", "b"}, {"A", "a", "a"}}, "B,A\r\nx,1\r\n,1\r\n,\r\n"},
		{"one column", Join{Listeners: []Joined{{Listener: "a"}}}, []CSVColumn{{"B", "a", "b"}}, "B\r\nx\r\n\"\"\r\n\"\"\r\n"},
		{"a key in the file", Join{Keys: []string{"k"}, Listeners: []Joined{{Listener: "a", Keys: []string{"a"}}}},
			[]CSVColumn{{"k", "", "k"}}, "k\r\n1\r\n1\r\n\"\"\r\n"},
		{"a key that is not in the file", Join{Keys: []string{"k"}, Listeners: []Joined{{Listener: "a", Keys: []string{"not there"}}}},
			[]CSVColumn{{"A", "a", "a"}}, "A\r\n1\r\n1\r\n\"\"\r\n"},
		{"empty label", Join{Listeners: []Joined{{Listener: "a"}}}, []CSVColumn{{"", "a", "a"}}, "\"\"\r\n1\r\n1\r\n\"\"\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := datasetOf(t, columnsOf("a", "integer", "b", "text"), 1, []any{1, "x"}, []any{1, ""}, []any{nil, nil})
			made, err := (&Report{Join: test.join, CSV: CSV{Columns: test.csv}}).Fold(map[string]Dataset{"a": a}, &out, Room{})
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
		"payments":  &memory{columns: columnsOf("amount", "decimal", "customer", "integer", "text", "text")},
		"customers": datasetOf(t, columnsOf("id", "text", "name", "text"), 1),
		"refunds":   &memory{columns: columnsOf("cid", "float", "at", "datetime")},
	}
	var out bytes.Buffer
	made, err := foldReport(Full, Full).Fold(datasets, &out, Room{})
	if want := "Customer,\"Name, or \"\"alias\"\"\",text,amount,refunded,id\r\n"; err != nil || made.Rows != 0 || out.String() != want {
		t.Errorf("%d rows, error %v, output %q", made.Rows, err, out.String())
	}
}

func TestNeeded(t *testing.T) {
	t.Parallel()
	single := &Report{
		Stages: []Stage{{Listeners: []Listener{{Name: "a", Columns: []string{"x", "y", "z"}}}}},
		Join:   Join{Keys: []string{"z"}, Listeners: []Joined{{Listener: "a", Keys: []string{"z"}}}},
		CSV:    CSV{Columns: []CSVColumn{{"y", "a", "y"}, {"x", "a", "x"}, {"again", "a", "y"}}},
	}
	shown := *single
	shown.CSV.Columns = []CSVColumn{{"z", "", "z"}, {"x", "a", "x"}}
	for _, test := range []struct {
		name   string
		report *Report
		want   map[string][]string
	}{
		{"three listeners", foldReport(Inner, Inner), map[string][]string{
			"payments": {"amount", "customer", "text"}, "customers": {"id", "name"}, "refunds": {"cid", "at"}}},
		{"one listener", single, map[string][]string{"a": {"x", "y"}}},
		{"one listener with its key", &shown, map[string][]string{"a": {"x", "z"}}},
	} {
		if diff := cmp.Diff(test.want, test.report.Needed()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestFoldErrors(t *testing.T) {
	t.Parallel()
	// A connection that breaks says EOF, too: that is not the end of the dataset.
	broken := fmt.Errorf("connection lost: %w", io.EOF)
	for _, test := range []struct {
		name   string
		change func(r *Report, d map[string]Dataset)
		want   string
	}{
		{"no dataset", func(_ *Report, d map[string]Dataset) { delete(d, "refunds") }, `report: no dataset of listener "refunds"`},
		{"no key column", func(_ *Report, d map[string]Dataset) { d["customers"].(*memory).columns = columnsOf("name", "text") },
			`report: the dataset of listener "customers" has no column "id"`},
		{"no CSV column", func(r *Report, _ map[string]Dataset) { r.CSV.Columns[1].Column = "nick" },
			`report: CSV column "Name, or \"alias\"": the dataset of listener "customers" has no column "nick"`},
		{"not joined", func(r *Report, _ map[string]Dataset) { r.CSV.Columns[1].Listener = "others" },
			`report: CSV column "Name, or \"alias\"": listener "others" is not joined`},
		{"no such key", func(r *Report, _ map[string]Dataset) { r.CSV.Columns[0].Column = "other" },
			`report: CSV column "Customer": the join has no key "other"`},
		{"fewer keys", func(r *Report, _ map[string]Dataset) { r.Join.Listeners[2].Keys = nil },
			`report: listener "refunds" has 0 key columns, but the join has 1 keys`},
		{"no keys", func(r *Report, _ map[string]Dataset) { r.Join.Keys = nil }, `report: a join without keys`},
		{"no listeners", func(r *Report, _ map[string]Dataset) { r.Join.Listeners = nil }, `report: a join without listeners`},
		{"twice", func(r *Report, _ map[string]Dataset) { r.Join.Listeners[2].Listener = "payments" }, `report: listener "payments" is joined twice`},
		{"type", func(r *Report, _ map[string]Dataset) { r.Join.Listeners[2].Type = "outer" }, `report: listener "refunds": unknown join type "outer"`},
		{"no columns", func(r *Report, _ map[string]Dataset) { r.CSV.Columns = nil }, `report: a CSV without columns`},
		{"other chunk", func(_ *Report, d map[string]Dataset) {
			d["refunds"].(*memory).chunks[0] = d["customers"].(*memory).chunks[0]
		},
			`report: dataset of listener "refunds": a chunk whose columns are not those of the dataset`},
		{"no chunk", func(_ *Report, d map[string]Dataset) { d["payments"].(*memory).chunks[0] = nil },
			`report: dataset of listener "payments": a chunk whose columns are not those of the dataset`},
		{"first fails", func(_ *Report, d map[string]Dataset) { d["payments"].(*memory).err = broken },
			`report: dataset of listener "payments": connection lost: EOF`},
		{"second fails", func(_ *Report, d map[string]Dataset) { d["customers"].(*memory).err = broken },
			`report: dataset of listener "customers": connection lost: EOF`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, datasets := foldReport(Full, Full), foldDatasets(t)
			test.change(r, datasets)
			_, err := r.Fold(datasets, io.Discard, Room{})
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if strings.Contains(test.want, broken.Error()) && !errors.Is(err, broken) {
				t.Errorf("%v does not wrap its cause", err)
			}
		})
	}
}

// fullDisk takes some bytes and then fails.
type fullDisk struct{ room, writes int }

var errDisk = errors.New("disk full")

func (d *fullDisk) Write(p []byte) (int, error) {
	d.writes++
	if d.room -= len(p); d.room < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

// TestFoldEndsEarly holds that nothing more is read after an error.
func TestFoldEndsEarly(t *testing.T) {
	t.Parallel()
	columns := columnsOf("a", "text")
	var rows [][]any
	for range 100 {
		rows = append(rows, []any{strings.Repeat("x", 10_000)})
	}
	r := &Report{Join: Join{Listeners: []Joined{{Listener: "a"}}}, CSV: CSV{Columns: []CSVColumn{{"a", "a", "a"}}}}
	for _, room := range []int{0, 70_000} {
		a := datasetOf(t, columns, 1, rows...)
		disk := &fullDisk{room: room}
		if _, err := r.Fold(map[string]Dataset{"a": a}, disk, Room{}); !errors.Is(err, errDisk) {
			t.Errorf("error %v", err)
		}
		// Two chunks are read ahead, and two buffers of 64 KB are written behind.
		if most := room/10_000 + 2*7 + 10; a.calls > most {
			t.Errorf("%d chunks were read, want at most %d", a.calls, most)
		}
	}
	// The last bytes fail when they are flushed.
	if _, err := r.Fold(map[string]Dataset{"a": datasetOf(t, columns, 1, []any{"x"})}, &fullDisk{}, Room{}); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	j := foldReport(Inner, Inner)
	datasets := foldDatasets(t)
	datasets["customers"].(*memory).err = errDisk
	if _, err := j.Fold(datasets, io.Discard, Room{}); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	if datasets["payments"].(*memory).calls > 0 || datasets["refunds"].(*memory).calls > 0 {
		t.Error("other datasets were read after one had failed")
	}
}

func TestFoldCase(t *testing.T) {
	t.Parallel()
	r := &Report{
		Join: Join{Keys: []string{"k"}, Listeners: []Joined{{Listener: "a", Keys: []string{"k"}}, {Listener: "b", Type: Full, Keys: []string{"k"}}}},
		CSV:  CSV{Columns: []CSVColumn{{"k", "", "k"}, {"b", "b", "k"}}},
	}
	for fold, want := range map[CaseFolding]string{
		FoldNone:   "k,b\r\nÉa,\r\nß,\r\néA,éA\r\nSS,SS\r\n",
		FoldSimple: "k,b\r\nÉa,éA\r\nß,\r\nSS,SS\r\n",
		FoldFull:   "k,b\r\nÉa,éA\r\nß,SS\r\n",
	} {
		r.Join.FoldCase = fold
		var out bytes.Buffer
		_, err := r.Fold(map[string]Dataset{
			"a": datasetOf(t, columnsOf("k", "text"), 1, []any{"Éa"}, []any{"ß"}), "b": datasetOf(t, columnsOf("k", "text"), 1, []any{"éA"}, []any{"SS"}),
		}, &out, Room{})
		if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
}
