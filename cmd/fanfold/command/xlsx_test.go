package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// TestXLSX makes a workbook from the values of a real server. A text that no cell can hold fails the job at once.
func TestXLSX(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  book:
    listeners:
      a: {database: db, query: "SELECT k, amount, note, day, at, took FROM a ORDER BY k"}
    join: {key: k, listeners: [a]}
    file: {format: xlsx, sheet: Rows, time_zone: Europe/Berlin, filter: false}
  long:
    listeners:
      a: {database: db, query: "SELECT k, REPEAT('a', 32768) AS note FROM a"}
    join: {key: k, listeners: [a]}
    file: {format: xlsx}
`)
	s.Records.Exec("CREATE TABLE a (k BIGINT, amount DECIMAL(10,2), note VARCHAR(50), day DATE, at DATETIME, took TIME)")
	s.Records.Exec("INSERT INTO a VALUES (7, -1.5, '=1+1', '2024-02-29', '2024-07-01 22:00:00', '36:00:00'), " +
		"(1234567890123456, NULL, 'a<b', NULL, NULL, NULL)")
	s.Serve(s.File)
	v := s.Jobs.Run("book", "")
	if !strings.HasSuffix(v.File, "-1-"+s.Files.Tag()+".xlsx") {
		t.Errorf("the file is %s", v.File)
	}
	names, texts := unzip(t, s.Files.Content(v))
	text := func(name string) string { return texts[slices.Index(names, name)] }
	const rows = `<row><c s="8"><v>7</v></c><c s="10"><v>-1.50</v></c><c s="2" t="inlineStr"><is><t>=1+1</t></is></c>` +
		`<c s="3"><v>45351</v></c><c s="4"><v>45475</v></c><c s="6"><v>1.5</v></c></row>` + "\n" +
		`<row><c s="2" t="inlineStr"><is><t>1234567890123456</t></is></c><c/><c t="inlineStr"><is><t>a&lt;b</t></is></c>` +
		`<c/><c/><c/></row>` + "\n</sheetData>"
	if got := text("xl/worksheets/sheet1.xml"); !strings.Contains(got, rows) || !strings.Contains(got, "<pane") ||
		strings.Contains(got, "<autoFilter") {
		t.Errorf("%s\nwant in it\n%s", got, rows)
	}
	if got := text("xl/workbook.xml"); !strings.Contains(got, `<sheet name="Rows"`) {
		t.Error(got)
	}
	v = s.Jobs.Run("long", "")
	const reason = `column "note" has 32768 characters, and a cell of the format xlsx at most 32767 (row: k `
	if v.Status != report.Failed || !strings.Contains(v.Error, reason) {
		t.Errorf("%+v", v)
	}
	s.Files.None("long")
	s.Jobs.Idle()
}
