package command

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/fanfold/fanfold/report"
)

const typedTable = "CREATE TABLE a (k BIGINT UNSIGNED, amount DECIMAL(10,2), note VARCHAR(50), day DATE, at DATETIME, took TIME)"

// TestJSONLines makes a file from the values of a real server.
func TestJSONLines(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  lines:
    listeners:
      a: {database: db, query: "SELECT k, amount, note, day, at, took FROM a ORDER BY k"}
    join: {key: k, listeners: [a]}
    file: {format: jsonl, nulls: omit, time_zone: Europe/Berlin, compress: gzip}
`)
	s.Records.Exec(typedTable)
	s.Records.Exec("INSERT INTO a VALUES (7, -1.5, '=1+1', '2024-02-29', '2024-07-01 22:00:00', '36:00:00'), " +
		"(18446744073709551615, NULL, 'a\\n\"b\"', NULL, NULL, NULL)")
	s.Serve(s.File)
	v := s.Jobs.Run("lines", "")
	if !strings.HasSuffix(v.File, "-1-"+s.Files.Tag()+".jsonl.gz") {
		t.Errorf("the file is %s", v.File)
	}
	z, err := gzip.NewReader(strings.NewReader(s.Files.Content(v)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	const want = `{"k":7,"amount":-1.50,"note":"=1+1","day":"2024-02-29","at":"2024-07-02T00:00:00+02:00","took":"36:00:00"}` +
		"\n" + `{"k":"18446744073709551615","note":"a\n\"b\""}` + "\n"
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	s.Jobs.Idle()
}

// TestParquet makes a file from the values of a real server. A value that the type of its column cannot hold fails the
// job at once.
func TestParquet(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  columns:
    listeners:
      a: {database: db, query: "SELECT k, amount, note, day, at FROM a ORDER BY k"}
    join: {key: k, listeners: [a]}
    file: {format: parquet}
  long:
    listeners:
      a: {database: db, query: "SELECT k, took FROM a"}
    join: {key: k, listeners: [a]}
    file: {format: parquet}
`)
	s.Records.Exec(typedTable)
	s.Records.Exec("INSERT INTO a VALUES (7, -1.5, '=1+1', '2024-02-29', '1970-01-01 00:00:01', '36:00:00'), (8, NULL, NULL, NULL, NULL, NULL)")
	s.Serve(s.File)
	v := s.Jobs.Run("columns", "")
	if !strings.HasSuffix(v.File, "-1-"+s.Files.Tag()+".parquet") {
		t.Errorf("the file is %s", v.File)
	}
	content := []byte(s.Files.Content(v))
	f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	const want = `message row {
	optional int64 k (INT(64,false));
	optional int64 amount (DECIMAL(10,2));
	optional binary note (STRING);
	optional int32 day (DATE);
	optional int64 at (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
}`
	if diff := cmp.Diff(want, f.Schema().String()); diff != "" {
		t.Error(diff)
	}
	rows := make([]parquet.Row, 3)
	n, err := parquet.NewReader(f).ReadRows(rows)
	var got [][]string
	for _, row := range rows[:n] {
		var cells []string
		for _, v := range row {
			cells = append(cells, v.String())
		}
		got = append(got, cells)
	}
	if diff := cmp.Diff([][]string{{"7", "-150", "=1+1", "19782", "1000000"}, {"8", "<null>", "<null>", "<null>", "<null>"}}, got); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	v = s.Jobs.Run("long", "")
	const reason = `column "took" of type TIME, value "36:00:00" (row: k 7, took "36:00:00")`
	if v.Status != report.Failed || !strings.Contains(v.Error, reason) || !strings.Contains(v.Error, "CAST") {
		t.Errorf("%+v", v)
	}
	s.Files.None("long")
	s.Jobs.Idle()
}
