package readers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/jsonl"
	"github.com/fanfold/fanfold/format/parquet"
	"github.com/fanfold/fanfold/report"
)

// duckdb returns the rows of a query as texts; NULL is "NULL".
func duckdb(t *testing.T, query string, args ...any) [][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "../../../bench/duckdb/query.mjs", fmt.Sprintf(query, args...))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v (make test installs DuckDB: .ci/deps node:nodejs npm:npm && .ci/duckdb): %s", err, stderr.String())
	}
	var rows [][]*string
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatal(err)
	}
	texts := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			if cell == nil {
				texts[i] = append(texts[i], "NULL")
			} else {
				texts[i] = append(texts[i], *cell)
			}
		}
	}
	return texts
}

// write writes a file of rows, and returns its path.
func write(
	t *testing.T, kind format.Kind, f report.File, columns []dataset.Column, rows int, cell func(row, column int) []byte,
) string {
	t.Helper()
	for _, c := range columns {
		f.Columns = append(f.Columns, report.FileColumn{Label: c.Name})
	}
	path := filepath.Join(t.TempDir(), "file"+kind.Extension)
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	file, err := kind.Begin(&f, columns, format.Title{}, w)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Abort()
	cells := make([][]byte, len(columns))
	for row := range rows {
		for i := range cells {
			cells[i] = cell(row, i)
		}
		line, err := file.AppendRow(file.Buffer(), cells)
		if err == nil {
			_, err = file.WriteRows(line, []int{len(line)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err = file.Close(); err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// typed are columns with a value each, its type in DuckDB, and how DuckDB shows it in Parquet and in JSON Lines.
var typed = []struct {
	dataset.Column
	cell, is, parquet, jsonl string
}{
	{dataset.Column{Name: "z first", Kind: report.KindInteger}, `-9223372036854775808`, "BIGINT", "-9223372036854775808", `"-9223372036854775808"`},
	{dataset.Column{Name: "big", Kind: report.KindInteger, Unsigned: true}, `18446744073709551615`, "UBIGINT", "18446744073709551615", `"18446744073709551615"`},
	{dataset.Column{Name: "d9", Kind: report.KindDecimal, Digits: 9, Scale: 2}, `"-1234567.89"`, "DECIMAL(9,2)", "-1234567.89", "-1234567.89"},
	{dataset.Column{Name: "d18", Kind: report.KindDecimal, Digits: 18, Scale: 4}, `"-99999999999999.9999"`, "DECIMAL(18,4)", "-99999999999999.9999", `"-99999999999999.9999"`},
	{dataset.Column{Name: "d38", Kind: report.KindDecimal, Digits: 38, Scale: 10}, `"-9999999999999999999999999999.9999999999"`, "DECIMAL(38,10)", "-9999999999999999999999999999.9999999999", `"-9999999999999999999999999999.9999999999"`},
	{dataset.Column{Name: "sum", Kind: report.KindDecimal, Digits: 65, Scale: 2}, `"0.05"`, "DECIMAL(38,2)", "0.05", "0.05"},
	{dataset.Column{Name: "any", Kind: report.KindDecimal}, `"12.50"`, "VARCHAR", "12.50", "12.5"}, // the file has 12.50
	{dataset.Column{Name: "f", Kind: report.KindFloat}, `0.30000000000000004`, "DOUBLE", "0.30000000000000004", "0.30000000000000004"},
	{dataset.Column{Name: "f32", Kind: report.KindFloat, Bits: 32}, `0.1`, "FLOAT", "0.1", "0.1"},
	{dataset.Column{Name: "day", Kind: report.KindDate}, `"0001-01-31"`, "DATE", "0001-01-31", `"0001-01-31"`},
	{dataset.Column{Name: "made", Kind: report.KindDatetime, Zone: "Europe/Berlin"}, `"2024-07-31 10:00:00.000001"`, "TIMESTAMP WITH TIME ZONE", "2024-07-31 08:00:00.000001+00", `"2024-07-31T10:00:00.000001+02:00"`},
	{dataset.Column{Name: "took", Kind: report.KindTime}, `"23:59:59.5"`, "TIME", "23:59:59.5", `"23:59:59.5"`},
	{dataset.Column{Name: "text", Kind: report.KindText}, `"=a\n\"é😀\" \u0001"`, "VARCHAR", "=a\n\"é😀\" \x01", `"=a\n\"é😀\" \u0001"`},
	{dataset.Column{Name: "doc", Kind: report.KindJSON}, `"{\"b\":1.50}"`, "JSON", `{"b":1.50}`, `{"b":1.5}`},
	{dataset.Column{Name: "bytes", Kind: report.KindBinary}, `"AEE="`, "BLOB", `\x00A`, `"AEE="`},
	{dataset.Column{Name: "a last"}, `"x"`, "VARCHAR", "x", `"x"`},
}

// TestTypesInDuckDB: DuckDB has the types and values of the columns, in their order, and NULL.
func TestTypesInDuckDB(t *testing.T) {
	t.Parallel()
	var columns []dataset.Column
	var described, values, objects [][]string
	values, objects = [][]string{nil, nil}, [][]string{nil, nil}
	for _, c := range typed {
		columns = append(columns, c.Column)
		described = append(described, []string{c.Name, c.is})
		values[0], values[1] = append(values[0], c.parquet), append(values[1], "NULL")
		objects[0], objects[1] = append(objects[0], c.jsonl), append(objects[1], "null")
	}
	cell := func(row, i int) []byte {
		if row == 1 {
			return nil
		}
		return []byte(typed[i].cell)
	}
	file := write(t, parquet.Kind, report.File{}, columns, 2, cell)
	got := duckdb(t, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '%s')", file)
	if diff := cmp.Diff(described, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(values, duckdb(t, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM '%s'", file)); diff != "" {
		t.Error(diff)
	}
	local := write(t, parquet.Kind, report.File{TimeZone: "Europe/Berlin"}, columns, 1, cell)
	got = duckdb(t, "SELECT typeof(made), made::VARCHAR FROM '%s'", local)
	if !cmp.Equal(got, [][]string{{"TIMESTAMP", "2024-07-31 10:00:00.000001"}}) {
		t.Errorf("with a time zone: %q", got)
	}
	file = write(t, jsonl.Kind, report.File{Options: new(jsonl.Options)}, columns, 2, cell)
	got = duckdb(t, "SELECT list_transform(json_keys(json), k -> (json -> k)::VARCHAR)::JSON FROM read_ndjson_objects('%s')", file)
	for i, row := range got {
		var texts []string
		if err := json.Unmarshal([]byte(row[0]), &texts); err != nil || !cmp.Equal(texts, objects[i]) {
			t.Errorf("%v\n%s", err, cmp.Diff(objects[i], texts))
		}
	}
	keys := duckdb(t, "SELECT unnest(json_keys(json)) FROM read_ndjson_objects('%s') LIMIT %d", file, len(columns))
	for i, c := range columns {
		if keys[i][0] != c.Name {
			t.Errorf("key %d is %q, want %q", i, keys[i][0], c.Name)
		}
	}
}

// TestFilesInDuckDB: Parquet and JSON Lines have the rows of the CSV file, as DuckDB reads them, also by
// conditions for which it leaves row groups out. ROWS=1000000 is more than the default.
func TestFilesInDuckDB(t *testing.T) {
	t.Parallel()
	rows := 5000
	if text := os.Getenv("ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	columns := []dataset.Column{
		{Name: "id", Kind: report.KindInteger}, {Name: "n", Kind: report.KindInteger, Unsigned: true},
		{Name: "x", Kind: report.KindDecimal, Digits: 12, Scale: 2}, {Name: "y", Kind: report.KindDecimal, Digits: 30, Scale: 3},
		{Name: "f", Kind: report.KindFloat}, {Name: "day", Kind: report.KindDate}, {Name: "made", Kind: report.KindDatetime},
		{Name: "took", Kind: report.KindTime}, {Name: "name", Kind: report.KindText}, {Name: "note", Kind: report.KindText},
	}
	types := `{id: 'BIGINT', n: 'UBIGINT', x: 'DECIMAL(12,2)', y: 'DECIMAL(30,3)', f: 'DOUBLE', day: 'DATE', made: 'TIMESTAMPTZ',
		took: 'TIME', name: 'VARCHAR', note: 'VARCHAR'}`
	cell := func(row, column int) []byte {
		r := row * 7919 % 1_000_003
		if (row+column)%13 == 0 && column > 0 {
			return nil
		}
		switch column {
		case 0:
			return fmt.Append(nil, row-rows/2)
		case 1:
			return fmt.Append(nil, uint64(r)<<44)
		case 2:
			return fmt.Appendf(nil, `"%d.%02d"`, r-500_000, r%100)
		case 3:
			return fmt.Appendf(nil, `"%d12345678901234567890.%03d"`, r-500_000, r%1000)
		case 4:
			return fmt.Append(nil, float64(r)/3)
		case 5:
			return fmt.Appendf(nil, `"%04d-%02d-%02d"`, 1900+r%200, r%12+1, r%28+1)
		case 6:
			return fmt.Appendf(nil, `"%04d-%02d-%02d %02d:00:%02d.%06d"`, 1900+r%200, r%12+1, r%28+1, r%24, r%60, r%1_000_000)
		case 7:
			return fmt.Appendf(nil, `"%02d:%02d:00"`, r%24, r%60)
		case 8:
			return fmt.Appendf(nil, `"name %d é"`, r%1000)
		}
		return fmt.Appendf(nil, `"%s, \"%d\"\n;"`, strings.Repeat("note ", r%7), r)
	}
	null := format.Null(`\N`)
	csv := write(t, format.CSV, report.File{Options: &format.CSVOptions{Null: &null}}, columns, rows, cell)
	from := map[string]string{
		"parquet": fmt.Sprintf("read_parquet('%s')", write(t, parquet.Kind, report.File{}, columns, rows, cell)),
		"jsonl": fmt.Sprintf("read_json('%s', format = 'newline_delimited', columns = %s)",
			write(t, jsonl.Kind, report.File{Options: &jsonl.Options{OmitNulls: true}}, columns, rows, cell), types),
	}
	want := fmt.Sprintf(`read_csv('%s', header = true, auto_detect = false, nullstr = '\N', quote = '"', escape = '"',
		delim = ',', columns = %s)`, csv, types)
	want = "WITH csv AS MATERIALIZED (FROM " + want + ")"
	for name, file := range from {
		differ := duckdb(t, `%s SELECT (SELECT count(*) FROM %[2]s), (SELECT count(*) FROM (FROM %[2]s EXCEPT ALL FROM csv)),
			(SELECT count(*) FROM (FROM csv EXCEPT ALL FROM %[2]s))`, want, file)
		if !cmp.Equal(differ, [][]string{{fmt.Sprint(rows), "0", "0"}}) {
			t.Errorf("%s: rows, rows that only it has, and that only CSV has: %q", name, differ)
		}
	}
	conditions := []string{"id < 0", "id = 7", "n > 9223372036854775808", "x < 0", "y < 0", "y > 0", "f < 5",
		"day < DATE '1910-01-01'", "made > TIMESTAMPTZ '2090-01-01 00:00:00Z'", "name = 'name 7 é'", "note IS NULL"}
	var counts []string
	for _, condition := range conditions {
		for _, from := range []string{from["parquet"], "csv"} {
			counts = append(counts, fmt.Sprintf("(SELECT count(*) FROM %s WHERE %s)", from, condition))
		}
	}
	got := duckdb(t, "%s SELECT %s", want, strings.Join(counts, ", "))[0]
	for i, condition := range conditions {
		if got[2*i] != got[2*i+1] || got[2*i] == "0" {
			t.Errorf("WHERE %s: %s rows, and %s of CSV", condition, got[2*i], got[2*i+1])
		}
	}
}
