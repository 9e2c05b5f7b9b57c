package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/formattest"
	"github.com/fanfold/fanfold/report"
)

// isNull is what readCells returns for an empty cell.
const isNull = "\x00"

// cell is what a sheet says of one.
type cell struct {
	Style int    `xml:"s,attr"`
	Type  string `xml:"t,attr"`
	Value string `xml:"v"`
	Text  *struct {
		Text string `xml:"t"`
	} `xml:"is"`
}

type sheet struct {
	Rows []struct {
		Cells []cell `xml:"c"`
	} `xml:"sheetData>row"`
	Columns []struct {
		Width int `xml:"width,attr"`
	} `xml:"cols>col"`
	Pane *struct {
		Rows int `xml:"ySplit,attr"`
	} `xml:"sheetViews>sheetView>pane"`
	Filter struct {
		Ref string `xml:"ref,attr"`
	} `xml:"autoFilter"`
}

type workbook struct {
	Sheets []struct {
		Name string `xml:"name,attr"`
	} `xml:"sheets>sheet"`
	Names  []string `xml:"definedNames>definedName"`
	sheets []sheet
}

// readBook reads a whole file.
func readBook(file []byte) (b workbook, err error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return b, err
	}
	read := func(name string, to any) error {
		f, err := archive.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return xml.NewDecoder(f).Decode(to)
	}
	for _, name := range []string{"[Content_Types].xml", "_rels/.rels", "xl/_rels/workbook.xml.rels", "xl/styles.xml"} {
		if err := read(name, new(struct{})); err != nil {
			return b, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := read("xl/workbook.xml", &b); err != nil {
		return b, err
	}
	for i := range b.Sheets {
		var s sheet
		if err := read(fmt.Sprintf("xl/worksheets/sheet%d.xml", i+1), &s); err != nil {
			return b, err
		}
		b.sheets = append(b.sheets, s)
	}
	return b, nil
}

var escaped = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// text returns the text of a cell, as Excel shows it.
func (c cell) text() string {
	if c.Text == nil {
		if c.Value == "" {
			return isNull
		}
		return c.Value
	}
	return escaped.ReplaceAllStringFunc(c.Text.Text, func(code string) string {
		n, _ := strconv.ParseUint(code[2:6], 16, 16)
		return string(utf8.AppendRune(nil, rune(n)))
	})
}

// TestFormat is what every format does.
func TestFormat(t *testing.T) {
	t.Parallel()
	read := func(file []byte) (rows [][]string, err error) {
		b, err := readBook(file)
		for i, s := range b.sheets {
			for j, row := range s.Rows {
				var texts []string
				for _, c := range row.Cells {
					texts = append(texts, c.text())
				}
				if i == 0 || j > 0 {
					rows = append(rows, texts)
				} else if !cmp.Equal(texts, rows[0]) {
					return nil, fmt.Errorf("sheet %d has the header %q", i+1, texts)
				}
			}
		}
		return rows, err
	}
	formattest.Run(t, Kind, formattest.Reader{Read: read, Null: isNull, Longest: maxText})
}

// file makes a file of rows of JSON.
func file(t *testing.T, k format.Kind, f *report.File, columns []dataset.Column, rows ...[]string) workbook {
	t.Helper()
	for i := range columns {
		f.Columns = append(f.Columns, report.FileColumn{Label: fmt.Sprint("c", i)})
	}
	var out bytes.Buffer
	to, err := k.Begin(f, columns, format.Title{Report: "orders"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Abort()
	for _, row := range rows {
		var cells [][]byte
		for _, cell := range row {
			cells = append(cells, []byte(cell))
		}
		line, err := to.AppendRow(nil, cells)
		if err == nil {
			_, err = to.WriteRows(line, []int{len(line)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := to.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := readBook(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTypes: what a cell is, by the kind of its column and its JSON.
func TestTypes(t *testing.T) {
	t.Parallel()
	const decimal2 = int(styleNumber) + 2
	number := func(s int, value string) cell { return cell{Style: s, Value: value} }
	text := func(s style, value string) cell {
		c := cell{Style: int(s), Type: "inlineStr"}
		c.Text = &struct {
			Text string `xml:"t"`
		}{value}
		return c
	}
	filled := dataset.Column{Kind: report.KindInteger, Zerofill: 5}
	fixed := dataset.Column{Kind: report.KindFloat, Fixed: true, Scale: 2}
	berlin := dataset.Column{Kind: report.KindDatetime, Zone: "Europe/Berlin"}
	for _, c := range []struct {
		column dataset.Column
		json   string
		want   cell
	}{
		{dataset.Column{Kind: report.KindInteger}, `0`, number(int(styleNumber), "0")},
		{dataset.Column{Kind: report.KindInteger}, `-7`, number(int(styleNumber), "-7")},
		{dataset.Column{Kind: report.KindInteger}, `999999999999999`, number(int(styleNumber), "999999999999999")},
		{dataset.Column{Kind: report.KindInteger}, `1000000000000000`, text(styleText, "1000000000000000")},
		{dataset.Column{Kind: report.KindInteger}, `-18446744073709551615`, text(styleText, "-18446744073709551615")},
		{dataset.Column{Kind: report.KindInteger}, `null`, cell{}},
		{dataset.Column{Kind: report.KindInteger}, `true`, cell{Type: "b", Value: "1"}},
		{dataset.Column{Kind: report.KindText}, `false`, cell{Type: "b", Value: "0"}},
		{dataset.Column{Kind: report.KindText}, `12`, number(int(styleNumber), "12")},
		{filled, `42`, number(int(styleFilled), "42")},
		{dataset.Column{Kind: report.KindInteger, Zerofill: 20}, `1234567890123456`, text(styleText, "00001234567890123456")},
		{dataset.Column{Kind: report.KindDecimal}, `"12.50"`, number(decimal2, "12.50")},
		{dataset.Column{Kind: report.KindDecimal}, `"-0.07"`, number(decimal2, "-0.07")},
		{dataset.Column{Kind: report.KindDecimal}, `"5"`, number(int(styleNumber), "5")},
		{dataset.Column{Kind: report.KindDecimal}, `"1234567890123.45"`, number(decimal2, "1234567890123.45")},
		{dataset.Column{Kind: report.KindDecimal}, `"123456789012345.00"`, number(decimal2, "123456789012345.00")},
		{dataset.Column{Kind: report.KindDecimal}, `"12345678901234.56"`, text(styleText, "12345678901234.56")},
		{dataset.Column{Kind: report.KindDecimal}, `"0.` + strings.Repeat("0", 29) + `1"`,
			number(int(styleNumber)+30, "0."+strings.Repeat("0", 29)+"1")},
		{dataset.Column{Kind: report.KindDecimal}, `"0.` + strings.Repeat("0", 30) + `1"`,
			text(styleText, "0."+strings.Repeat("0", 30)+"1")},
		{dataset.Column{Kind: report.KindDecimal}, `"007.5"`, text(styleText, "007.5")},
		{dataset.Column{Kind: report.KindFloat}, `0.30000000000000004`, number(0, "0.30000000000000004")},
		{dataset.Column{Kind: report.KindFloat}, `1e20`, number(0, "1e20")},
		{dataset.Column{Kind: report.KindFloat}, `1e999`, text(styleText, "1e999")},
		{fixed, `1234.50`, number(decimal2, "1234.50")},
		{fixed, `12345678901234.56`, text(styleText, "12345678901234.56")},
		{dataset.Column{Kind: report.KindDate}, `"1900-02-28"`, text(styleText, "1900-02-28")},
		{dataset.Column{Kind: report.KindDate}, `"1900-03-01"`, number(int(styleDate), "61")},
		{dataset.Column{Kind: report.KindDate}, `"1969-12-31"`, number(int(styleDate), "25568")},
		{dataset.Column{Kind: report.KindDate}, `"2024-02-29"`, number(int(styleDate), "45351")},
		{dataset.Column{Kind: report.KindDate}, `"9999-12-31"`, number(int(styleDate), "2958465")},
		{dataset.Column{Kind: report.KindDate}, `"0000-00-00"`, text(styleText, "0000-00-00")},
		{dataset.Column{Kind: report.KindDate}, `"2024-02-30"`, text(styleText, "2024-02-30")},
		{dataset.Column{Kind: report.KindDatetime}, `"2024-02-29 12:00:00"`, number(int(styleDatetime), "45351.5")},
		{dataset.Column{Kind: report.KindDatetime}, `"2024-02-29 00:00:00"`, number(int(styleDatetime), "45351")},
		{dataset.Column{Kind: report.KindDatetime}, `"2024-02-29 23:59:59.999999"`,
			number(int(styleMoment), "45351.9999999999884")},
		{dataset.Column{Kind: report.KindDatetime}, `"2024-02-29 00:00:00.123456789"`,
			text(styleText, "2024-02-29 00:00:00.123456789")},
		{dataset.Column{Kind: report.KindDatetime}, `"1899-12-31 00:00:01"`, text(styleText, "1899-12-31 00:00:01")},
		{berlin, `"2024-07-01 12:00:00"`, number(int(styleDatetime), "45474.5")},
		{dataset.Column{Kind: report.KindTime}, `"06:00:00"`, number(int(styleTime), "0.25")},
		{dataset.Column{Kind: report.KindTime}, `"838:59:59"`, number(int(styleTime), "34.9583217592593")},
		{dataset.Column{Kind: report.KindTime}, `"00:00:00.000001"`, number(int(styleDuration), "0.0000000000116")},
		{dataset.Column{Kind: report.KindTime}, `"-01:00:00"`, text(styleText, "-01:00:00")},
		{dataset.Column{Kind: report.KindTime}, `"1:00"`, text(styleText, "1:00")},
		{dataset.Column{Kind: report.KindTime}, `"01:00:00."`, text(styleText, "01:00:00.")},
		{dataset.Column{Kind: report.KindTime}, `"01:00:00.0000001"`, text(styleText, "01:00:00.0000001")},
		{dataset.Column{Kind: report.KindText}, `""`, text(styleGeneral, "")},
		{dataset.Column{Kind: report.KindText}, `"Ann"`, text(styleGeneral, "Ann")},
		{dataset.Column{Kind: report.KindText}, `"=1+1"`, text(styleText, "=1+1")},
		{dataset.Column{Kind: report.KindText}, `" =1+1"`, text(styleText, " =1+1")},
		{dataset.Column{Kind: report.KindText}, `"＝1+1"`, text(styleText, "＝1+1")},
		{dataset.Column{Kind: report.KindText}, `"0123"`, text(styleText, "0123")},
		{dataset.Column{Kind: report.KindText}, `"a\u0001b\u000d\nc"`, text(styleGeneral, "a_x0001_b_x000D_\nc")},
		{dataset.Column{Kind: report.KindText}, `"_x0041_ _x004g_ _x"`, text(styleText, "_x005F_x0041_ _x004g_ _x")},
		{dataset.Column{Kind: report.KindText}, `"a\uffff` + "\ufffe\ufffd" + `"`,
			text(styleGeneral, "a_xFFFF__xFFFE_\ufffd")},
		{dataset.Column{Kind: report.KindJSON}, `"{\"a\": 1}"`, text(styleText, `{"a": 1}`)},
		{dataset.Column{Kind: report.KindBinary}, `"AAE="`, text(styleGeneral, "AAE=")},
	} {
		got := file(t, Kind, &report.File{Format: "xlsx"}, []dataset.Column{c.column}, []string{c.json})
		if diff := cmp.Diff(c.want, got.sheets[0].Rows[1].Cells[0]); diff != "" {
			t.Errorf("%s %s:\n%s", c.column.Kind, c.json, diff)
		}
	}
	zone := &report.File{Format: "xlsx", TimeZone: "UTC"}
	got := file(t, Kind, zone, []dataset.Column{berlin}, []string{`"2024-07-01 12:00:00"`}).sheets[0].Rows[1].Cells[0]
	if got.Value[:10] != "45474.4166" {
		t.Errorf("in UTC: %+v", got)
	}
	zone = &report.File{Format: "xlsx", TimeZone: "UTC"}
	got = file(t, Kind, zone, []dataset.Column{berlin}, []string{`"1899-12-31 10:00:00.5"`}).sheets[0].Rows[1].Cells[0]
	if got.text() != "1899-12-31 09:00:00.5" {
		t.Errorf("a text in UTC: %q", got.text())
	}
}

// nothing is a compressor whose sheets are empty, however large they were.
type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }
func (nothing) Close() error                { return nil }

// TestLargeSheet: a sheet beyond 4 GiB has a ZIP64 entry.
func TestLargeSheet(t *testing.T) {
	t.Parallel()
	e, err := newEncoder(&report.File{Columns: []report.FileColumn{{Label: "a"}}}, make([]dataset.Column, 1))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	to, err := e.(*encoder).Wrap(&out, format.Title{Report: "large"})
	if err != nil {
		t.Fatal(err)
	}
	to.(*book).zip.RegisterCompressor(zip.Deflate, func(io.Writer) (io.WriteCloser, error) { return nothing{}, nil })
	piece, size := make([]byte, 1<<20), 0
	for ; size <= math.MaxUint32; size += len(piece) {
		if _, err := to.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	const zip64 = 45
	if f := archive.File[1]; f.UncompressedSize64 <= uint64(size) || f.ReaderVersion != zip64 {
		t.Errorf("%s has %d bytes, more than %d were written, for readers of version %d", f.Name, f.UncompressedSize64, size,
			f.ReaderVersion)
	}
}

// TestDateFormats: the number formats of layouts, and what Excel cannot show.
func TestDateFormats(t *testing.T) {
	t.Parallel()
	for layout, want := range map[string]string{
		"DD.MM.YYYY": `dd\.mm\.yyyy`, "DD/MM/YY HH:mm": `dd\/mm\/yy\ hh\:mm`,
		"YYYY-MM-DDTHH:mm:ss.fff": `yyyy\-mm\-dd\Thh\:mm\:ss.000`,
		"hh:mm AM, MM":            `hh\:mm\ AM/PM\,\ mm`, "mm:ss": `mm\:ss`, "": "",
		"YYYY ZZ": "no zone", "ss.ffffff": "no microseconds", "ss fff": "behind ss", "fff": "behind ss",
		"mm": "the minute for the month", "HH MM": "the minute for the month", "MM:ss": "the minute for the month",
	} {
		code, wrong := codeOf(format.DatetimeLayout(layout).Pieces())
		if wrong != nil {
			code = wrong.Message
		}
		if code != want && (wrong == nil || !strings.Contains(code, want)) {
			t.Errorf("%q: %s, want %s", layout, code, want)
		}
	}
	o := &Options{Date: "DD.MM.YYYY", Datetime: "DD.MM. HH:mm"}
	f := &report.File{Columns: []report.FileColumn{{Label: "a"}}, Options: o}
	e, err := newEncoder(f, make([]dataset.Column, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`formatCode="dd\.mm\.yyyy"`, `formatCode="dd\.mm\.\ hh\:mm"`} {
		if !strings.Contains(e.(*encoder).styles(), want) {
			t.Errorf("styles.xml has no %s", want)
		}
	}
	o.Date, o.Datetime = "", "ZZ DD"
	if wrong := Kind.Check(&report.Report{File: *f}); len(wrong) != 1 || wrong[0].Field != "datetime" {
		t.Errorf("%+v", wrong)
	}
}

// TestSheets: names, headers, filters and widths of the sheets.
func TestSheets(t *testing.T) {
	t.Parallel()
	columns := []dataset.Column{{Kind: report.KindText}, {Kind: report.KindDatetime}, {Kind: report.KindInteger}}
	long := `"` + strings.Repeat("long ", 40) + `"`
	rows := [][]string{
		{`"short"`, `"2024-02-29 12:00:00"`, `1`}, {`"two\nlines, of which one is long"`, `null`, `12345678901`},
		{long, `null`, `null`}, {`"b"`, `null`, `null`}, {`"c"`, `null`, `null`},
	}
	k := Kind
	k.PartRows = 2
	b := file(t, k, &report.File{Format: "xlsx"}, columns, rows...)
	var names []string
	for i, s := range b.Sheets {
		names = append(names, s.Name)
		want := "A1:C3"
		if i == 2 {
			want = "A1:C2"
		}
		got := b.sheets[i]
		if got.Filter.Ref != want || got.Pane == nil || got.Pane.Rows != 1 ||
			fmt.Sprint(got.Columns) != "[{30} {22} {14}]" || got.Rows[0].Cells[2].text() != "c2" {
			t.Errorf("sheet %d: %+v", i, got)
		}
	}
	if want := []string{"orders", "orders (2)", "orders (3)"}; !cmp.Equal(names, want) {
		t.Errorf("sheets %q, want %q", names, want)
	}
	if want := "'orders (2)'!$A$1:$C$3"; len(b.Names) != 3 || b.Names[1] != want {
		t.Errorf("names %q, want %q", b.Names, want)
	}
	plain := &report.File{Format: "xlsx", Options: &Options{Sheet: "Rows"}}
	b = file(t, Kind, plain, columns, rows...)
	s := b.sheets[0]
	if s.Pane != nil || s.Filter.Ref != "" || b.Names != nil || b.Sheets[0].Name != "Rows" ||
		s.Columns[0].Width != maxWidth {
		t.Errorf("%+v", b)
	}
}

// TestSheetNames: the names of reports and of the option sheet.
func TestSheetNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"orders": "orders", "a/b:c*d?e[f]g\\h": "a-b-c-d-e-f-g-h", "'quoted'": "quoted", "": "Sheet1",
		"History": "Sheet1", "'": "Sheet1", "a\x00\x1fb\ufffe": "ab", "a <&> \"b\"": "a <&> \"b\"",
		strings.Repeat("x", 40): strings.Repeat("x", 31), strings.Repeat("😀", 16): strings.Repeat("😀", 15),
		strings.Repeat("x", 30) + "'y": strings.Repeat("x", 30),
	} {
		if got := cleanName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
		var option SheetName
		if wrong := option.Parse(name); (wrong == nil) != (name == want) {
			t.Errorf("sheet: %q: %v", name, wrong)
		}
	}
	b := book{name: strings.Repeat("x", 30) + "y"}
	if got, want := b.sheetName(99), strings.Repeat("x", 25)+" (100)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for n, want := range map[int]string{1: "A", 26: "Z", 27: "AA", 702: "ZZ", 703: "AAA", maxColumns: "XFD"} {
		if got := columnName(n); got != want {
			t.Errorf("column %d is %s, want %s", n, got, want)
		}
	}
}

// TestLimits: what no workbook can hold is an error before the first row.
func TestLimits(t *testing.T) {
	t.Parallel()
	wide := report.File{Columns: make([]report.FileColumn, maxColumns+1)}
	label := report.File{Columns: []report.FileColumn{{Label: strings.Repeat("x", maxText+1)}}}
	for want, f := range map[string]report.File{"at most 16384 columns": wide, "at most 32767 characters": label} {
		wrong := Kind.Check(&report.Report{File: f})
		if len(wrong) != 1 || wrong[0].Field != "columns" || !strings.Contains(wrong[0].Message, want) {
			t.Errorf("%+v, want %s", wrong, want)
		}
		_, err := Kind.New(&f, make([]dataset.Column, len(f.Columns)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	wide.Columns = wide.Columns[1:]
	if wrong := Kind.Check(&report.Report{File: wide}); wrong != nil {
		t.Errorf("%+v", wrong)
	}
}

// TestMicroseconds: the number of a datetime has its microseconds. A double has too few digits for those after the first
// 65,536 days.
func TestMicroseconds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	first := time.Date(1900, 3, 1, 0, 0, 0, 0, time.UTC)
	seconds := epoch.AddDate(0, 0, 1<<16).Unix() - first.Unix()
	for range 10_000 {
		want := time.Unix(first.Unix()+random.Int64N(seconds), random.Int64N(1e6)*1e3).UTC()
		days, micros, ok := serial(want)
		number, err := strconv.ParseFloat(string(appendSerial(nil, days, micros)), 64)
		if err != nil || !ok {
			t.Fatalf("%s: %v", want, err)
		}
		whole, fraction := math.Modf(number)
		got := epoch.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(fraction*dayMicros)) * time.Microsecond)
		if !got.Equal(want) {
			t.Fatalf("%s becomes %v, which is %s", want, number, got)
		}
		took := fmt.Sprintf("%03d:%02d:%02d.%06d", random.IntN(839), want.Minute(), want.Second(), want.Nanosecond()/1000)
		days, micros, _, ok = duration([]byte(took))
		hours, _ := strconv.ParseInt(took[:3], 10, 64)
		all := ((hours*60+int64(want.Minute()))*60+int64(want.Second()))*1e6 + int64(want.Nanosecond()/1000)
		if !ok || days*dayMicros+int64(micros) != all {
			t.Fatalf("%s becomes %d days and %d µs", took, days, micros)
		}
	}
}

// FuzzText: whatever a text is, its cell has it, and only what is shorter than a cell is written.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", "_x0041_", "a\x00b", "\ufffe", "\r\n", "]]>", "_x_x0041_", "__x0041__", "_xD83D_"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\ufffd")
		if len(text) > maxText {
			return
		}
		c := column{Column: dataset.Column{Kind: report.KindText}}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		appended, _ := c.append([]byte("before"), quoted)
		var got cell
		if err := xml.Unmarshal(bytes.TrimPrefix(appended, []byte("before")), &got); err != nil || got.text() != text {
			t.Errorf("%q is read as %q: %v", text, got.text(), err)
		}
		if bytes.ContainsRune(appended, '\n') {
			t.Errorf("%q ends the row", text)
		}
	})
}
