package fold

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// optionReport has a column of every kind, and a listener that lacks some of the keys.
func optionReport(f report.File) *report.Report {
	r := &report.Report{
		Join: report.Join{Keys: []string{"id"}, Listeners: []report.Joined{{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: report.Left, Keys: []string{"id"}}}},
		File: f,
	}
	r.File.Columns = []report.FileColumn{column("id", "", "id")}
	for _, name := range []string{"amount", "rate", "note", "day", "at", "took", "doc", "raw"} {
		r.File.Columns = append(r.File.Columns, column(name, "a", name))
	}
	r.File.Columns = append(r.File.Columns, column("=again; and", "a", "note"), column("name", "b", "name"), column("seen", "b", "seen"))
	return r
}

// optionDatasets are the datasets of optionReport, with datetimes of a zone.
func optionDatasets(t datasettest.TB, zone ...string) map[string]Dataset {
	datetime := strings.Join(append([]string{"datetime"}, zone...), " ")
	return map[string]Dataset{
		"a": datasettest.Of(t, datasettest.Columns("id", "integer", "amount", "decimal", "rate", "float", "note", "text", "day", "date", "at", datetime, "took", "time", "doc", "json", "raw", "binary"), 3,
			[]any{-5, "-1.50", -1e-17, "plain", "2024-03-31", "2024-03-31 00:30:00", "-12:00:00", `{"a":1}`, "+AAA"},
			[]any{0, "+2", 1.5, "semi;colon, \"quoted\"\ttab|bar", "2024-02-29", "2024-07-01 22:15:09.120000", "01:02:03", "-1", "AAA="},
			[]any{1, nil, nil, nil, nil, nil, nil, nil, nil},
			[]any{2, "0", 0.0, "", "0000-00-00", "0000-00-00 00:00:00", "00:00:00", "null", ""},
			[]any{3, "1", 1.0, "=1+1", "9999-12-31", "9999-12-31 23:59:59", "838:59:59", `["=x"]`, "x"},
			[]any{4, "1", 1.0, "'=1+1", "2024-02-30", "2024-13-01 00:00:00", "1:0", `"=x"`, "x"},
			[]any{5, "1", 1.0, "line\r\nbreak", "1999-12-31", "1999-12-31 12:00:00", "0", "x", "x"},
			[]any{6, "1", 1.0, "NULL", "1999-12-31", "1999-12-31 23:59:59.999999", "0", "x", "x"}),
		"b": datasettest.Of(t, datasettest.Columns("id", "integer", "name", "text", "seen", datetime), 2,
			[]any{-5, "@cmd", "2024-10-27 00:30:00"}, []any{0, "-5.25", nil}, []any{0, "+49 30 1234", "2024-10-27 01:30:00"},
			[]any{3, "-", "2024-01-01 00:00:00.5"}, []any{3, "\t=1", "x"}, []any{7, "=never in the file", nil}),
	}
}

// csv is a file of CSV with these options.
func csv(o format.CSVOptions) report.File { return report.File{Format: "csv", Options: &o} }

// zoned is csv with a time zone.
func zoned(zone string, o format.CSVOptions) report.File {
	return report.File{Format: "csv", TimeZone: zone, Options: &o}
}

// way is how a join without memory is carried out.
type way string

// allWays are all ways, including a join in memory.
var allWays = []way{"hash", "merge", "spill"}

// fold is foldTo in this way; b is sorted, unless it is a number of another kind.
func (w way) fold(r *report.Report, sets map[string]Dataset, out io.Writer, files *scratchFiles) (folded, error) {
	switch w {
	case "hash":
		return foldTo(r, sets, out, Budget{})
	case "spill":
		for _, set := range sets {
			set.(*datasettest.Memory).Of[0].Kind = report.KindDecimal
		}
	}
	return foldTo(r, sets, out, Budget{Bytes: 1, Scratch: files.make})
}

// options are the options of the files testdata/csv_*.csv.
var options = []struct {
	name string
	file report.File
	zone string // of the datetimes
}{
	{"plain", csv(format.CSVOptions{}), ""},
	{"bom", csv(format.CSVOptions{BOM: format.Marked}), ""},
	{"semicolon_lf", csv(format.CSVOptions{Delimiter: ";", LF: true}), ""},
	{"tab", csv(format.CSVOptions{Delimiter: "\t"}), ""},
	{"null", csv(format.CSVOptions{Null: new(format.Null("NULL"))}), ""},
	{"null_empty", csv(format.CSVOptions{Null: new(format.Null(""))}), ""},
	{"zone", zoned("Europe/Berlin", format.CSVOptions{}), ""},
	{"source_zone", zoned("America/New_York", format.CSVOptions{Datetime: "MM/DD/YY hh:mm:ss.fff AM ZZ"}), "Asia/Kolkata"},
	{"forms", csv(format.CSVOptions{Date: "DD.MM.YYYY", Datetime: "YYYY-MM-DDTHH:mm:ss.ffffffZZ"}), ""},
	{"escape", csv(format.CSVOptions{Formulas: format.FormulasEscape}), ""},
	{"all", zoned("Europe/Berlin", format.CSVOptions{
		BOM: format.Marked, Delimiter: ";", LF: true, Null: new(format.Null("-")), Date: "DD.MM.YYYY", Datetime: "DD.MM.YYYY HH:mm", Formulas: format.FormulasEscape,
	}), ""},
}

// TestOptions compares files with options, in every way of joining, with testdata/csv_*.csv.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, test := range options {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := "testdata/csv_" + test.name + ".csv"
			files := &scratchFiles{t: t, dir: t.TempDir()}
			var first folded
			for _, way := range allWays {
				var out bytes.Buffer
				made, err := way.fold(optionReport(test.file), optionDatasets(t, test.zone), &out, files)
				if err != nil || made.Rows != 10 {
					t.Fatalf("%s: %+v, %v", way, made, err)
				}
				if first.Rows == 0 {
					first = made
				}
				if diff := cmp.Diff(first, made); diff != "" {
					t.Errorf("%s: %s", way, diff)
				}
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
					t.Errorf("%s: %s", way, diff)
				}
			}
			var want map[string]int64
			if test.file.Options.(*format.CSVOptions).Formulas == format.FormulasEscape {
				want = map[string]int64{"note": 3, "=again; and": 3, "name": 3}
			}
			if diff := cmp.Diff(want, first.Formulas); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestZerofill checks that leading zeros are only in the file: the key is the number, so the join
// is the same as without them, in every way of joining.
func TestZerofill(t *testing.T) {
	t.Parallel()
	sets := func() map[string]Dataset {
		a, b := datasettest.Columns("id", "integer", "n", "float"), datasettest.Columns("id", "integer", "m", "integer")
		a[0].Zerofill, a[1].Zerofill, b[1].Zerofill = 5, 6, 3
		return map[string]Dataset{
			"a": datasettest.Of(t, a, 2, []any{7, 1.5}, []any{42, nil}, []any{123456, 1e20}),
			"b": datasettest.Of(t, b, 2, []any{7, 0}, []any{42, nil}, []any{42, 1234}),
		}
	}
	files := &scratchFiles{t: t, dir: t.TempDir()}
	r := &report.Report{Join: report.Join{Keys: []string{"id"}, Listeners: []report.Joined{{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: report.Left, Keys: []string{"id"}}}}}
	for want, o := range map[string]format.CSVOptions{
		"id,n,m,own\r\n00007,0001.5,000,7\r\n00042,,,42\r\n00042,,1234,42\r\n123456,001e20,,\r\n":      {},
		"id;n;m;own\r\n00007;0001.5;000;7\r\n00042;-;-;42\r\n00042;-;1234;42\r\n123456;001e20;-;-\r\n": {Delimiter: ";", Null: new(format.Null("-"))},
	} {
		r.File = csv(o)
		r.File.Columns = []report.FileColumn{column("id", "", "id"), column("n", "a", "n"), column("m", "b", "m"), column("own", "b", "id")}
		for _, way := range allWays {
			var out bytes.Buffer
			if _, err := way.fold(r, sets(), &out, files); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("%s: %s", way, diff)
			}
		}
	}
}

// TestGzip checks that a compressed file has the same content and always the same bytes.
func TestGzip(t *testing.T) {
	t.Parallel()
	var plain, first, second bytes.Buffer
	packed := report.File{Format: "csv", Compress: report.Gzip}
	for out, f := range map[*bytes.Buffer]report.File{&plain: {Format: "csv"}, &first: packed, &second: packed} {
		if _, err := foldTo(optionReport(f), optionDatasets(t), out, Budget{}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("other bytes the second time")
	}
	z, err := gzip.NewReader(&first)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(text, plain.Bytes()) {
		t.Errorf("%v\n%s", err, cmp.Diff(plain.String(), string(text)))
	}
	// An error of the sink is found at the end, too.
	if _, err := foldTo(optionReport(packed), optionDatasets(t), &fullDisk{}, Budget{}); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
}

// TestLimitsOfAFile checks that a file beyond the limits of its report is an error, and one at the
// limit is not.
func TestLimitsOfAFile(t *testing.T) {
	t.Parallel()
	for _, compress := range []report.Compression{report.Uncompressed, report.Gzip, report.Zip} {
		var out bytes.Buffer
		if _, err := foldTo(optionReport(report.File{Format: "csv", Compress: compress}), optionDatasets(t), &out, Budget{}); err != nil {
			t.Fatal(err)
		}
		size := int64(out.Len())
		files := &scratchFiles{t: t, dir: t.TempDir()}
		for _, test := range []struct {
			file report.File
			want string
		}{
			{report.File{MaxRows: 10, MaxBytes: size}, ""},
			{report.File{MaxRows: 9}, "file too large: more than 9 rows (file.max_rows): narrow the parameters, or raise the limit"},
			{report.File{MaxBytes: size - 1}, fmt.Sprintf("file too large: more than %d bytes (file.max_bytes): narrow the parameters, or raise the limit", size-1)},
		} {
			test.file.Format, test.file.Compress = "csv", compress
			for _, way := range allWays {
				_, err := way.fold(optionReport(test.file), optionDatasets(t), io.Discard, files)
				if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, format.ErrTooLarge) || !strings.HasSuffix(err.Error(), test.want)) {
					t.Errorf("%s, %+v: error %v, want %s", way, test.file, err, test.want)
				}
			}
		}
	}
}

// TestFormulasFail checks that a formula in the file is an error, and a formula in a row that is
// not in the file is not.
func TestFormulasFail(t *testing.T) {
	t.Parallel()
	const want = `a spreadsheet would read a cell as a formula (column "name", value "@cmd"): correct the data, or set file.formulas: escape`
	files := &scratchFiles{t: t, dir: t.TempDir()}
	for _, way := range allWays {
		_, err := way.fold(optionReport(csv(format.CSVOptions{Formulas: format.FormulasFail})), optionDatasets(t), io.Discard, files)
		if err == nil || !errors.Is(err, format.ErrFormula) || err.Error() != want {
			t.Errorf("%s: error %v, want %s", way, err, want)
		}
	}
	sets := func() map[string]Dataset {
		return map[string]Dataset{
			"a": datasettest.Of(t, datasettest.Columns("id", "integer", "note", "text"), 1, []any{1, "-1"}, []any{2, "=2"}),
			"b": datasettest.Of(t, datasettest.Columns("id", "integer", "name", "text"), 1, []any{0, "=x"}, []any{1, "x"}, []any{3, "=x"}),
		}
	}
	r := &report.Report{
		Join: report.Join{Keys: []string{"id"}, Listeners: []report.Joined{{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: report.Inner, Keys: []string{"id"}}}},
		File: report.File{Format: "csv", Columns: []report.FileColumn{column("id", "", "id"), column("note", "a", "note"), column("name", "b", "name")}, Options: &format.CSVOptions{Formulas: format.FormulasFail}},
	}
	for _, way := range allWays {
		var out bytes.Buffer
		if made, err := way.fold(r, sets(), &out, files); err != nil || made.Rows != 1 || out.String() != "id,note,name\r\n1,-1,x\r\n" {
			t.Errorf("%+v, error %v: %q", made, err, out.String())
		}
	}
}

// drawOptions draws the options of a file, except those of dates and limits, which have their own
// tests.
func drawOptions(t *rapid.T, f *report.File) {
	c := new(format.CSVOptions)
	f.Format, f.Options = "csv", c
	c.BOM, c.LF = rapid.SampledFrom([]format.Mark{"", format.Marked}).Draw(t, "bom"), rapid.Bool().Draw(t, "lf")
	c.Delimiter = format.Delimiter(rapid.SampledFrom(append([]string{""}, format.Delimiters[1:]...)).Draw(t, "delimiter"))
	c.Formulas = rapid.SampledFrom([]format.Formulas{format.FormulasOff, format.FormulasEscape}).Draw(t, "formulas")
	f.Compress = rapid.SampledFrom([]report.Compression{report.Uncompressed, report.Gzip}).Draw(t, "compress")
	if null := rapid.SampledFrom([]string{"none", "", "NULL", "1"}).Draw(t, "null"); null != "none" {
		c.Null = new(format.Null(null))
	}
}

// TestMomentsOfSeveralZones checks that every column has its own zone, even within one listener,
// and that datetimes of an API are in UTC.
func TestMomentsOfSeveralZones(t *testing.T) {
	t.Parallel()
	r := &report.Report{
		Join: report.Join{Keys: []string{"id"}, Listeners: []report.Joined{{Listener: "db", Keys: []string{"id"}}, {Listener: "api", Type: report.Inner, Keys: []string{"id"}}}},
	}
	files := &scratchFiles{t: t, dir: t.TempDir()}
	columns := []report.FileColumn{column("a", "db", "at"), column("b", "api", "at"), column("c", "db", "stamp")}
	for want, f := range map[string]report.File{
		"a,b,c\r\n2024-01-01 10:00:00,2024-01-01 10:00:00,2024-01-01 10:00:00\r\n": csv(format.CSVOptions{BOM: format.Marked, Null: new(format.Null("NULL"))}),
		"a,b,c\r\n2024-01-01 10:00:00,2024-01-01 11:00:00,2024-01-01 11:00:00\r\n": zoned("Europe/Berlin", format.CSVOptions{}),
		"a,b,c\r\n2024-01-01 09:00:00,2024-01-01 10:00:00,2024-01-01 10:00:00\r\n": zoned("UTC", format.CSVOptions{}),
		"a,b,c\r\n10:00 +01:00,10:00 +00:00,10:00 +00:00\r\n":                      csv(format.CSVOptions{Datetime: "HH:mm ZZ"}),
	} {
		if f.Options.(*format.CSVOptions).BOM == format.Marked {
			want = "\ufeff" + want
		}
		r.File = f
		r.File.Columns = columns
		for _, way := range allWays {
			var out strings.Builder
			if _, err := way.fold(r, map[string]Dataset{
				"db":  datasettest.Of(t, datasettest.Columns("id", "integer", "at", "datetime Europe/Berlin", "stamp", "datetime"), 1, []any{1, "2024-01-01 10:00:00", "2024-01-01 10:00:00"}),
				"api": datasettest.Of(t, datasettest.Columns("id", "integer", "at", "datetime"), 1, []any{1, "2024-01-01 10:00:00"}),
			}, &out, files); err != nil || out.String() != want {
				t.Errorf("%v: %q, want %q", err, out.String(), want)
			}
		}
	}
}
