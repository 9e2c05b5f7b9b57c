package report

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// optionReport has a column of each kind, and a listener that has not all of the keys.
func optionReport(c CSV) *Report {
	r := &Report{
		Join: Join{Keys: []string{"id"}, Listeners: []Joined{{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: Left, Keys: []string{"id"}}}},
		CSV:  c,
	}
	r.CSV.Columns = []CSVColumn{{"id", "", "id"}}
	for _, name := range []string{"amount", "rate", "note", "day", "at", "took", "doc", "raw"} {
		r.CSV.Columns = append(r.CSV.Columns, CSVColumn{name, "a", name})
	}
	r.CSV.Columns = append(r.CSV.Columns, CSVColumn{"=again; and", "a", "note"}, CSVColumn{"name", "b", "name"}, CSVColumn{"seen", "b", "seen"})
	return r
}

// optionDatasets are the datasets of optionReport, their datetimes of a zone.
func optionDatasets(t fataler, zone ...string) map[string]Dataset {
	datetime := strings.Join(append([]string{"datetime"}, zone...), " ")
	return map[string]Dataset{
		"a": datasetOf(t, columnsOf("id", "integer", "amount", "decimal", "rate", "float", "note", "text", "day", "date", "at", datetime, "took", "time", "doc", "json", "raw", "binary"), 3,
			[]any{-5, "-1.50", -1e-17, "plain", "2024-03-31", "2024-03-31 00:30:00", "-12:00:00", `{"a":1}`, "+AAA"},
			[]any{0, "+2", 1.5, "semi;colon, \"quoted\"\ttab|bar", "2024-02-29", "2024-07-01 22:15:09.120000", "01:02:03", "-1", "AAA="},
			[]any{1, nil, nil, nil, nil, nil, nil, nil, nil},
			[]any{2, "0", 0.0, "", "0000-00-00", "0000-00-00 00:00:00", "00:00:00", "null", ""},
			[]any{3, "1", 1.0, "=1+1", "9999-12-31", "9999-12-31 23:59:59", "838:59:59", `["=x"]`, "x"},
			[]any{4, "1", 1.0, "'=1+1", "2024-02-30", "2024-13-01 00:00:00", "1:0", `"=x"`, "x"},
			[]any{5, "1", 1.0, "line\r\nbreak", "1999-12-31", "1999-12-31 12:00:00", "0", "x", "x"},
			[]any{6, "1", 1.0, "NULL", "1999-12-31", "1999-12-31 23:59:59.999999", "0", "x", "x"}),
		"b": datasetOf(t, columnsOf("id", "integer", "name", "text", "seen", datetime), 2,
			[]any{-5, "@cmd", "2024-10-27 00:30:00"}, []any{0, "-5.25", nil}, []any{0, "+49 30 1234", "2024-10-27 01:30:00"},
			[]any{3, "-", "2024-01-01 00:00:00.5"}, []any{3, "\t=1", "x"}, []any{7, "=never in the file", nil}),
	}
}

// options are those whose files are in testdata/csv_*.csv.
var options = []struct {
	name string
	csv  CSV
	zone string // of the datetimes
}{
	{"plain", CSV{}, ""},
	{"bom", CSV{BOM: true}, ""},
	{"semicolon_lf", CSV{Delimiter: ";", LF: true}, ""},
	{"tab", CSV{Delimiter: "\t"}, ""},
	{"null", CSV{Null: new("NULL")}, ""},
	{"null_empty", CSV{Null: new("")}, ""},
	{"zone", CSV{TimeZone: "Europe/Berlin"}, ""},
	{"source_zone", CSV{TimeZone: "America/New_York", Datetime: "MM/DD/YY hh:mm:ss.fff AM ZZ"}, "Asia/Kolkata"},
	{"forms", CSV{Date: "DD.MM.YYYY", Datetime: "YYYY-MM-DDTHH:mm:ss.ffffffZZ"}, ""},
	{"escape", CSV{Formulas: FormulasEscape}, ""},
	{"all", CSV{BOM: true, Delimiter: ";", LF: true, Null: new("-"), TimeZone: "Europe/Berlin", Date: "DD.MM.YYYY", Datetime: "DD.MM.YYYY HH:mm", Formulas: FormulasEscape}, ""},
}

// TestOptions holds the bytes of files with options, whichever way they are joined.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, test := range options {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := "testdata/csv_" + test.name + ".csv"
			files := &scratchFiles{t: t, dir: t.TempDir()}
			var first Made
			for way, join := range map[string]func(r *Report, out io.Writer) (Made, error){
				"hash": func(r *Report, out io.Writer) (Made, error) { return r.Fold(optionDatasets(t, test.zone), out, Room{}) },
				"merge": func(r *Report, out io.Writer) (Made, error) {
					return r.Merge(optionDatasets(t, test.zone), out, Room{})
				},
				"spill": func(r *Report, out io.Writer) (Made, error) {
					return r.Fold(optionDatasets(t, test.zone), out, Room{Bytes: 1, Scratch: files.make})
				},
			} {
				var out bytes.Buffer
				made, err := join(optionReport(test.csv), &out)
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
			if test.csv.Formulas == FormulasEscape {
				want = map[string]int64{"note": 3, "=again; and": 3, "name": 3}
			}
			if diff := cmp.Diff(want, first.Formulas); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestZerofill: zeros before a number are in the file alone: its key is the number, and
// rows come together as without them, whichever way they are joined.
func TestZerofill(t *testing.T) {
	t.Parallel()
	sets := func() map[string]Dataset {
		a, b := columnsOf("id", "integer", "n", "float"), columnsOf("id", "integer", "m", "integer")
		a[0].Zerofill, a[1].Zerofill, b[1].Zerofill = 5, 6, 3
		return map[string]Dataset{
			"a": datasetOf(t, a, 2, []any{7, 1.5}, []any{42, nil}, []any{123456, 1e20}),
			"b": datasetOf(t, b, 2, []any{7, 0}, []any{42, nil}, []any{42, 1234}),
		}
	}
	files := &scratchFiles{t: t, dir: t.TempDir()}
	r := &Report{Join: Join{Keys: []string{"id"}, Listeners: []Joined{{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: Left, Keys: []string{"id"}}}}}
	for want, c := range map[string]CSV{
		"id,n,m,own\r\n00007,0001.5,000,7\r\n00042,,,42\r\n00042,,1234,42\r\n123456,001e20,,\r\n":      {},
		"id;n;m;own\r\n00007;0001.5;000;7\r\n00042;-;-;42\r\n00042;-;1234;42\r\n123456;001e20;-;-\r\n": {Delimiter: ";", Null: new("-")},
	} {
		r.CSV = c
		r.CSV.Columns = []CSVColumn{{"id", "", "id"}, {"n", "a", "n"}, {"m", "b", "m"}, {"own", "b", "id"}}
		for way, join := range map[string]func(out io.Writer) (Made, error){
			"hash":  func(out io.Writer) (Made, error) { return r.Fold(sets(), out, Room{}) },
			"merge": func(out io.Writer) (Made, error) { return r.Merge(sets(), out, Room{}) },
			"spill": func(out io.Writer) (Made, error) { return r.Fold(sets(), out, Room{Bytes: 1, Scratch: files.make}) },
		} {
			var out bytes.Buffer
			if _, err := join(&out); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("%s: %s", way, diff)
			}
		}
	}
}

// TestGzip: the file is the same one, compressed, and has the same bytes each time.
func TestGzip(t *testing.T) {
	t.Parallel()
	var plain, first, second bytes.Buffer
	for out, c := range map[*bytes.Buffer]CSV{&plain: {}, &first: {Gzip: true}, &second: {Gzip: true}} {
		if _, err := optionReport(c).Fold(optionDatasets(t), out, Room{}); err != nil {
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
	if _, err := optionReport(CSV{Gzip: true}).Fold(optionDatasets(t), &fullDisk{}, Room{}); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
}

// TestLimitsOfAFile: a file that is larger than its report allows is an error, and
// one that is as large is none.
func TestLimitsOfAFile(t *testing.T) {
	t.Parallel()
	for _, gzip := range []bool{false, true} {
		var out bytes.Buffer
		if _, err := optionReport(CSV{Gzip: gzip}).Fold(optionDatasets(t), &out, Room{}); err != nil {
			t.Fatal(err)
		}
		size := int64(out.Len())
		files := &scratchFiles{t: t, dir: t.TempDir()}
		for _, test := range []struct {
			csv  CSV
			want string
		}{
			{CSV{MaxRows: 10, MaxBytes: size}, ""},
			{CSV{MaxRows: 9}, "report: file too large: it has more than 9 rows, which is csv.max_rows: narrow the parameters, or raise it"},
			{CSV{MaxBytes: size - 1}, fmt.Sprintf("report: file too large: it has more than %d bytes, which is csv.max_bytes: narrow the parameters, or raise it", size-1)},
		} {
			test.csv.Gzip = gzip
			for _, room := range []Room{{}, {Bytes: 1, Scratch: files.make}} {
				_, err := optionReport(test.csv).Fold(optionDatasets(t), io.Discard, room)
				if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrTooLarge) || !strings.HasSuffix(err.Error(), test.want)) {
					t.Errorf("%+v: error %v, want %s", test.csv, err, test.want)
				}
			}
			if _, err := optionReport(test.csv).Merge(optionDatasets(t), io.Discard, Room{}); errors.Is(err, ErrTooLarge) == (test.want == "") || errors.Is(err, ErrUnmergeable) != (gzip && test.csv.MaxBytes == size-1) {
				t.Errorf("%+v: error %v of a merge", test.csv, err)
			}
		}
	}
	// A text for NULL can be longer than what a line is without for want of order.
	c := CSV{MaxBytes: 100, Null: new("NULL")}
	if _, err := optionReport(c).Merge(optionDatasets(t), io.Discard, Room{}); !errors.Is(err, ErrUnmergeable) {
		t.Errorf("error %v of a merge with a text for NULL", err)
	}
}

// TestLimitsOfWhatIsNotSorted: what a merge writes in vain can be larger than the file,
// and does not make it too large.
func TestLimitsOfWhatIsNotSorted(t *testing.T) {
	t.Parallel()
	sets := func() map[string]Dataset {
		var all, some, rest [][]any
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 150_000 {
			all = append(all, []any{i})
			if row := []any{i, "x"}; random.IntN(10) == 0 {
				some = append(some, row)
			} else {
				rest = append(rest, row)
			}
		}
		return map[string]Dataset{
			"a": datasetOf(t, columnsOf("id", "integer"), 1, all...),
			"b": datasetOf(t, columnsOf("id", "integer", "v", "text"), 1, append(some, rest...)...),
		}
	}
	r := &Report{Join: Join{Keys: []string{"id"}, Listeners: []Joined{{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: Left, Keys: []string{"id"}}}}}
	for _, c := range []CSV{
		{Columns: []CSVColumn{{"v", "b", "v"}, {"again", "b", "v"}}, Gzip: true},
		{Columns: []CSVColumn{{"v", "b", "v"}}}, // a line without a value is longer
		{Columns: []CSVColumn{{"id", "", "id"}, {"v", "b", "v"}}, Null: new("NULL")},
	} {
		var out bytes.Buffer
		r.CSV = c
		if _, err := r.Fold(sets(), &out, Room{}); err != nil {
			t.Fatal(err)
		}
		r.CSV.MaxBytes = int64(out.Len())
		if _, err := r.Merge(sets(), io.Discard, Room{}); !errors.Is(err, ErrUnmergeable) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

// TestFormulasFail: a formula in a line of the file is an error, and one in a row
// that is in no line is none.
func TestFormulasFail(t *testing.T) {
	t.Parallel()
	const want = `report: a text that a spreadsheet takes for a formula, in column "note": correct the data, or write formulas: escape in the report's csv`
	files := &scratchFiles{t: t, dir: t.TempDir()}
	for _, room := range []Room{{}, {Bytes: 1, Scratch: files.make}} {
		_, err := optionReport(CSV{Formulas: FormulasFail}).Fold(optionDatasets(t), io.Discard, room)
		if !errors.Is(err, ErrFormula) || !strings.HasSuffix(err.Error(), `write formulas: escape in the report's csv`) {
			t.Errorf("error %v, want one such as %s", err, want)
		}
	}
	if _, err := optionReport(CSV{Formulas: FormulasFail}).Merge(optionDatasets(t), io.Discard, Room{}); !errors.Is(err, ErrFormula) {
		t.Errorf("error %v of a merge", err)
	}
	sets := func() map[string]Dataset {
		return map[string]Dataset{
			"a": datasetOf(t, columnsOf("id", "integer", "note", "text"), 1, []any{1, "-1"}, []any{2, "=2"}),
			"b": datasetOf(t, columnsOf("id", "integer", "name", "text"), 1, []any{0, "=x"}, []any{1, "x"}, []any{3, "=x"}),
		}
	}
	r := &Report{
		Join: Join{Keys: []string{"id"}, Listeners: []Joined{{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: Inner, Keys: []string{"id"}}}},
		CSV:  CSV{Columns: []CSVColumn{{"id", "", "id"}, {"note", "a", "note"}, {"name", "b", "name"}}, Formulas: FormulasFail},
	}
	for _, join := range []func(map[string]Dataset, io.Writer, Room) (Made, error){r.Fold, r.Merge} {
		var out bytes.Buffer
		if made, err := join(sets(), &out, Room{}); err != nil || made.Rows != 1 || out.String() != "id,note,name\r\n1,-1,x\r\n" {
			t.Errorf("%+v, error %v: %q", made, err, out.String())
		}
	}
}

func TestIsFormula(t *testing.T) {
	t.Parallel()
	for kind, texts := range map[Kind]map[string]bool{
		KindText: {
			"": false, "a": false, "=": false, "-": false, "--": true, "=1": true, "@x": true, "\tx": true, "\rx": true, "\nx": true, "\x00x": true,
			"-1": false, "+1": false, "-1.5": false, "-.5": false, "-5.": false, "-.": true, "+1e9": false, "-1E-7": false, "-1e": true, "-1e+": true,
			"-1,5": true, "+49 30": true, "-1-1": true, "1=": false, "'": false, "'a": false, "'=1": true, "''-1": true, "'-": true, "é=": false,
			" =1": true, "\u00a0\u3000@x": true, "\ufeff=1": true, "\u200b+x": true, " \t=1": true, "' =1": true, "＝1": true, " ＋x": true, "－x": true, "＠x": true,
			" ": false, " -1": false, " -": false, "＝": false, " x": false, "\u3000x": false, "1 =": false, "' -1": true, "' x": false, "ｘ": false, "\xef\xbc": false,
		},
		KindDecimal:  {"-1.50": false, "-1": false, "-x": true, "=1": true},
		KindTime:     {"-12:00:00": false, "-12:00:00.5": false, "-A1": true},
		KindDatetime: {"-0001-01-01 00:00:00": false, "=x": true},
		KindBinary:   {"+AAA": false, "=x": false},
		KindJSON:     {"-1": false, "-1-x": true, `{"a": 1}`: false},
	} {
		for text, want := range texts {
			if got := IsFormula([]byte(text), kind); got != want {
				t.Errorf("%s %q: %v", kind, text, got)
			}
		}
	}
}

// TestEscapedTextsComeBack: who takes one quote off each text that begins with
// quotes and a sign of a formula has what was there.
func TestEscapedTextsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("'=+-@\t1.ae ＝\u00a0")), 0, 6, -1).Draw(t, "text")
		got := []byte(text)
		if IsFormula(got, KindText) {
			got = guarded(got, 0)
		}
		back := unescaped(string(got))
		if back == string(got) && IsFormula(got, KindText) {
			t.Fatalf("%q is still one", got)
		}
		if back != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestParseForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]form{
		"YYYYMMDD": {"YYYY", "MM", "DD"}, "YY-MM": {"YY", "-", "MM"}, "DD é": {"DD", " ", "\xc3", "\xa9"}, "TT": nil, "": nil, "D.M": nil, "YYYY-mm": nil, "DD\n": nil,
		"MM.DD.MM": nil, "YY/YYYY": nil,
	} {
		got, err := parseForm(text, dateTokens)
		if !reflect.DeepEqual(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, good := range map[string]bool{"hh:mm AM": true, "DD HH:mm:ss.fff ZZ": true, "HH:MM DD.MM": false, "hh:mm": false, "HH:mm AM": false, "HH hh AM": false, "fff ffffff": false, "ZZ ZZ": false} {
		if _, err := parseForm(text, datetimeTokens); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// drawOptions draws the options of a file. Those of moments and limits have tests of
// their own.
func drawOptions(t *rapid.T, c *CSV) {
	c.BOM, c.LF = rapid.Bool().Draw(t, "bom"), rapid.Bool().Draw(t, "lf")
	c.Delimiter = rapid.SampledFrom(append([]string{""}, Delimiters[1:]...)).Draw(t, "delimiter")
	c.Formulas = rapid.SampledFrom([]Formulas{FormulasOff, FormulasEscape}).Draw(t, "formulas")
	c.Gzip = rapid.Bool().Draw(t, "gzip")
	if null := rapid.SampledFrom([]string{"none", "", "NULL", "1"}).Draw(t, "null"); null != "none" {
		c.Null = &null
	}
}
