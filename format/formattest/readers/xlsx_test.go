package readers

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/xlsx"
	"github.com/fanfold/fanfold/report"
)

// value is a cell of a workbook, and what readers say of it.
type value struct {
	json  string
	shown string // by excelize, which applies the number format as Excel does
	kind  excelize.CellType
	typed string // by openpyxl: the type in Python, and the value
}

// columns are those of the workbook, with the values of their rows.
var columns = []struct {
	dataset.Column
	values [4]value
}{
	{dataset.Column{Name: "id", Kind: report.KindInteger}, [4]value{
		{`123456789012345`, "123456789012345", excelize.CellTypeUnset, "int 123456789012345"},
		{`1234567890123456`, "1234567890123456", excelize.CellTypeInlineString, "str 1234567890123456"},
		{`-1`, "-1", excelize.CellTypeUnset, "int -1"},
		{`null`, "", excelize.CellTypeUnset, ""},
	}},
	{dataset.Column{Name: "text", Kind: report.KindText}, [4]value{
		{`"=1+1"`, "=1+1", excelize.CellTypeInlineString, "str =1+1"},
		{`" a\nb <&> "`, " a\nb <&> ", excelize.CellTypeInlineString, "str  a\nb <&> "},
		{`"a\u0001 _x0041_"`, "a\x01 _x0041_", excelize.CellTypeInlineString, "str a_x0001_ _x005F_x0041_"},
		{`"é😀"`, "é😀", excelize.CellTypeInlineString, "str é😀"},
	}},
	{dataset.Column{Name: "amount", Kind: report.KindDecimal, Digits: 20, Scale: 2}, [4]value{
		{`"12.50"`, "12.50", excelize.CellTypeUnset, "float 12.5"},
		{`"-1234567890123.45"`, "-1234567890123.45", excelize.CellTypeUnset, "float -1234567890123.45"},
		{`"123456789012345678.90"`, "123456789012345678.90", excelize.CellTypeInlineString, "str 123456789012345678.90"},
		{`"0.00"`, "0.00", excelize.CellTypeUnset, "float 0.0"},
	}},
	{dataset.Column{Name: "day", Kind: report.KindDate}, [4]value{
		{`"2024-02-29"`, "2024-02-29", excelize.CellTypeUnset, "datetime 2024-02-29 00:00:00"},
		{`"1900-03-01"`, "1900-03-01", excelize.CellTypeUnset, "datetime 1900-03-01 00:00:00"},
		{`"9999-12-31"`, "9999-12-31", excelize.CellTypeUnset, "datetime 9999-12-31 00:00:00"},
		{`"0000-00-00"`, "0000-00-00", excelize.CellTypeInlineString, "str 0000-00-00"},
	}},
	{dataset.Column{Name: "made", Kind: report.KindDatetime}, [4]value{
		{`"2024-02-29 23:59:59"`, "2024-02-29 23:59:59", excelize.CellTypeUnset, "datetime 2024-02-29 23:59:59"},
		{`"2024-02-29 10:00:01.250000"`, "2024-02-29 10:00:01.000", excelize.CellTypeUnset, // it shows no fractions
			"datetime 2024-02-29 10:00:01.250000"},
		{`"2024-02-29 00:00:00"`, "2024-02-29 00:00:00", excelize.CellTypeUnset, "datetime 2024-02-29 00:00:00"},
		{`"1899-12-31 10:00:00"`, "1899-12-31 10:00:00", excelize.CellTypeInlineString, "str 1899-12-31 10:00:00"},
	}},
	{dataset.Column{Name: "took", Kind: report.KindTime}, [4]value{
		{`"838:59:59"`, "838:59:59", excelize.CellTypeUnset, "timedelta 34 days, 22:59:59"},
		{`"00:10:00"`, "0:10:00", excelize.CellTypeUnset, "timedelta 0:10:00"}, // it shows [hh] as [h]
		{`"-01:00:00"`, "-01:00:00", excelize.CellTypeInlineString, "str -01:00:00"},
		{`null`, "", excelize.CellTypeUnset, ""},
	}},
	{dataset.Column{Name: "on", Kind: report.KindText}, [4]value{
		{`true`, "TRUE", excelize.CellTypeBool, "bool True"},
		{`false`, "FALSE", excelize.CellTypeBool, "bool False"},
		{`null`, "", excelize.CellTypeUnset, ""},
		{`"true"`, "true", excelize.CellTypeInlineString, "str true"},
	}},
	{dataset.Column{Name: "factor", Kind: report.KindFloat}, [4]value{
		{`0.1`, "0.1", excelize.CellTypeUnset, "float 0.1"},
		{`1e20`, "1E+20", excelize.CellTypeUnset, "float 1e+20"},
		{`0.30000000000000004`, "0.3", excelize.CellTypeUnset, "float 0.30000000000000004"},
		{`7`, "7", excelize.CellTypeUnset, "int 7"},
	}},
}

// workbook makes a workbook of the rows, three of which fit into a sheet.
func workbook(t *testing.T) []byte {
	t.Helper()
	kind := xlsx.Kind
	kind.PartRows = 3
	f := &report.File{Format: "xlsx", Options: &xlsx.Options{Freeze: true, Filter: true}}
	var of []dataset.Column
	for _, c := range columns {
		f.Columns = append(f.Columns, report.FileColumn{Label: c.Name})
		of = append(of, c.Column)
	}
	var out bytes.Buffer
	file, err := kind.Begin(f, of, format.Title{Report: "orders/2024: Bob's"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Abort()
	for row := range columns[0].values {
		var cells [][]byte
		for _, c := range columns {
			cells = append(cells, []byte(c.values[row].json))
		}
		line, err := file.AppendRow(nil, cells)
		if err == nil {
			_, err = file.WriteRows(line, []int{len(line)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var sheets = []string{"orders-2024- Bob's", "orders-2024- Bob's (2)"}

// TestExcelizeReadsXLSX: every cell has its type, no cell is a formula, and what is shown are the digits of the
// source.
func TestExcelizeReadsXLSX(t *testing.T) {
	book, err := excelize.OpenReader(bytes.NewReader(workbook(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	if diff := cmp.Diff(sheets, book.GetSheetList()); diff != "" {
		t.Fatal(diff)
	}
	for col, c := range columns {
		for row, v := range append([]value{{shown: c.Name, kind: excelize.CellTypeInlineString}}, c.values[:]...) {
			sheet, at := sheets[0], row+1
			if row == 4 {
				sheet, at = sheets[1], 2
			}
			name, err := excelize.CoordinatesToCellName(col+1, at)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := book.GetCellValue(sheet, name)
			kind, err1 := book.GetCellType(sheet, name)
			formula, err2 := book.GetCellFormula(sheet, name)
			if err != nil || err1 != nil || err2 != nil || shown != v.shown || kind != v.kind || formula != "" {
				t.Errorf("%s of %s: %q of type %v, formula %q; want %q of type %v (%v, %v, %v)", name, v.json, shown, kind, formula,
					v.shown, v.kind, err, err1, err2)
			}
		}
	}
	if rows, err := book.GetRows(sheets[1]); err != nil || len(rows) != 2 || rows[0][0] != "id" {
		t.Errorf("the second sheet: %q, %v", rows, err)
	}
}

// TestOpenpyxlReadsXLSX: what Python makes of the same workbook.
func TestOpenpyxlReadsXLSX(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.xlsx")
	if err := os.WriteFile(file, workbook(t), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "sheets.py", file)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\napt-get install python3-openpyxl", err, said.Bytes())
	}
	var got []struct {
		Name, Pane, Filter string
		Widths             []float64
		Rows               [][][]string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != sheets[0] || got[1].Name != sheets[1] || got[0].Pane != "A2" || got[1].Pane != "A2" ||
		got[0].Filter != "A1:H4" || got[1].Filter != "A1:H2" || !cmp.Equal(got[0].Widths, got[1].Widths) {
		t.Fatalf("%+v", got)
	}
	rows := append(got[0].Rows[1:], got[1].Rows[1:]...)
	for col, c := range columns {
		for row, v := range c.values {
			seen := ""
			if cell := rows[row][col]; cell != nil {
				seen = strings.Join(cell[:2], " ")
			}
			if seen != v.typed {
				t.Errorf("row %d: %s is %q, want %q", row, v.json, seen, v.typed)
			}
		}
	}
	if format := rows[0][2][2]; format != "0.00" {
		t.Errorf("the number format of a decimal is %q", format)
	}
}
