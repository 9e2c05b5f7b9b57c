package command

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// TestCSVOptions makes files with every CSV option from the values of a real server.
func TestCSVOptions(t *testing.T) {
	t.Parallel()
	const listeners = `    listeners: {
      a: {database: db, query: "SELECT k, amount, note, day, at FROM a ORDER BY k"},
      b: {database: db, query: "SELECT k, name FROM b ORDER BY k"}}
    join: {key: k, listeners: [a, {name: b, type: left}]}
`
	const nothing = `    listeners: {a: {database: db, query: "SELECT k FROM a WHERE k > 9"}}
`
	const folded = `    listeners: {
      a: {database: db, query: "SELECT k, amount FROM a"},
      b: {database: db, query: "SELECT k, name FROM b"}}
    fold: SELECT a.k, COUNT(b.k) AS n, MAX(a.amount) AS paid FROM a JOIN b ON b.k = a.k GROUP BY a.k
`
	s := newStack(t, `
  packed:
`+listeners+`    file: {compress: gzip, bom: true, delimiter: ";", line_end: lf, null: "NULL", time_zone: Europe/Berlin, date: DD.MM.YYYY, datetime: DD.MM.YYYY HH:mm, formulas: escape}
  parts:
`+listeners+`    file: {name: "parts {id}", compress: zip, split: {rows: 3}}
  rows:
`+listeners+`    file: {max_rows: 1}
  bytes:
`+listeners+`    file: {max_bytes: 100, null: "a text that is longer than what it stands for"}
  chosen:
    parameters: {columns: {list: true, default: [], options: [k, amount, name, note]}}
`+listeners+`    file: {columns_from: columns}
  chosen-folded:
    parameters: {columns: {list: true, default: null, options: [paid, k, "n"]}}
`+folded+`    file: {columns_from: columns}
  local:
`+listeners+`    file: {locale: de, thousands: true, columns: [k, amount, note]}
  skipped:
`+nothing+`    file: {empty: skip}
  refused:
`+nothing+`    file: {empty: fail}
  formulas:
`+listeners+`    file: {formulas: fail}
`)
	s.Records.Exec("CREATE TABLE a (k INT, amount DECIMAL(10,2), note VARCHAR(50), day DATE, at DATETIME)")
	s.Records.Exec("INSERT INTO a VALUES (1, -1.5, '=1+1', '2024-02-29', '2024-07-01 22:15:00'), (2, NULL, '', NULL, NULL), (3, 2, '-7', '0001-01-01', '2024-01-01 00:00:00')")
	s.Records.Exec("CREATE TABLE b (k INT, name VARCHAR(50))")
	s.Records.Exec("INSERT INTO b VALUES (1, '@a'), (1, 'b;c'), (2, 'NULL')")
	s.Serve(s.File)
	before := time.Now().Truncate(time.Millisecond)
	v := s.Jobs.Run("packed", "")
	if !strings.HasSuffix(v.File, "-1-"+s.Files.Tag()+".csv.gz") {
		t.Errorf("the file is %s", v.File)
	}
	z, err := gzip.NewReader(strings.NewReader(s.Files.Content(v)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	const want = "\ufeffk;amount;note;day;at;name\n" +
		"1;-1.50;'=1+1;29.02.2024;02.07.2024 00:15;'@a\n" +
		"1;-1.50;'=1+1;29.02.2024;02.07.2024 00:15;\"b;c\"\n" +
		"2;NULL;\"\";NULL;NULL;\"NULL\"\n" +
		"3;2.00;-7;01.01.0001;01.01.2024 01:00;NULL\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%q\nwant\n%q", err, text, want)
	}
	parts := s.Jobs.Run("parts", "")
	names, texts := unzip(t, s.Files.Content(parts))
	if diff := cmp.Diff([]string{"parts " + parts.ID + "-1.csv", "parts " + parts.ID + "-2.csv"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"k,amount,note,day,at,name\r\n" +
		"1,-1.50,'=1+1,2024-02-29,2024-07-01 22:15:00,'@a\r\n" +
		"1,-1.50,'=1+1,2024-02-29,2024-07-01 22:15:00,b;c\r\n" +
		"2,,,,,NULL\r\n", "k,amount,note,day,at,name\r\n" +
		"3,2.00,-7,0001-01-01,2024-01-01 00:00:00,\r\n"}, texts); diff != "" {
		t.Error(diff)
	}
	data, err := os.ReadFile(sink.ManifestName(strings.TrimPrefix(v.File, "file://")))
	if err != nil {
		t.Fatal(err)
	}
	var m sink.Manifest
	if err := json.Unmarshal(data, &m); err != nil || m.Rows != 4 || m.Bytes != int64(len(s.Files.Content(v))) || m.File != v.File || m.TimeZone != "Europe/Berlin" {
		t.Errorf("%v\n%s", err, data)
	}
	if diff := cmp.Diff([]sink.ManifestColumn{
		{Label: "k", Column: "k", Type: report.KindInteger},
		{Label: "amount", Listener: "a", Column: "amount", Type: report.KindDecimal},
		{Label: "note", Listener: "a", Column: "note", Type: report.KindText, Escaped: 2},
		{Label: "day", Listener: "a", Column: "day", Type: report.KindDate},
		{Label: "at", Listener: "a", Column: "at", Type: report.KindDatetime},
		{Label: "name", Listener: "b", Column: "name", Type: report.KindText, Escaped: 1},
	}, m.Columns); diff != "" {
		t.Error(diff)
	}
	for _, l := range m.Listeners {
		if l.Tries != 1 || l.AsOf.Before(before) || l.DoneAt.Before(l.AsOf) || m.CreatedAt.Before(l.DoneAt) || l.Error != "" {
			t.Errorf("%+v", l)
		}
	}
	if out, code := s.fanfold("retry", v.ID, "--wait"); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	s.Eventually("the file of the first attempt is deleted", func() bool {
		files, _ := filepath.Glob(s.Dir + "/files/packed/[^.]*")
		return len(files) == 2 && s.Jobs.Wait(v.ID)[0].Attempt == 2
	})
	for name, reason := range map[string]string{
		"rows":     "more than 1 rows (file.max_rows)",
		"bytes":    "more than 100 bytes (file.max_bytes)",
		"formulas": `(column "note", value "=1+1")`,
		"refused":  "the result has no rows (file.empty: fail)",
	} {
		if v := s.Jobs.Run(name, ""); v.Status != report.Failed || !strings.Contains(v.Error, reason) {
			t.Errorf("%s: %+v", name, v)
		}
		s.Files.None(name)
	}
	for _, c := range []struct{ report, parameters, want string }{
		{"chosen", `{"columns": ["name", "k", "name"]}`, "name,k\r\n'@a,1\r\nb;c,1\r\nNULL,2\r\n,3\r\n"},
		{"chosen", `{"columns": []}`, "k,amount,note,day,at,name\r\n"},
		{"chosen-folded", `{"columns": ["paid"]}`, "paid\r\n-1.50\r\n\"\"\r\n"},
		{"chosen-folded", `{"columns": ["n", "k"]}`, "n,k\r\n2,1\r\n1,2\r\n"},
		{"chosen-folded", "", "k,n,paid\r\n1,2,-1.50\r\n2,1,\r\n"},
	} {
		v := s.Jobs.Run(c.report, c.parameters)
		if got := s.Files.Content(v); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.report, c.parameters, got, c.want)
		}
		var m sink.Manifest
		data, err := os.ReadFile(sink.ManifestName(strings.TrimPrefix(v.File, "file://")))
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if header, _, _ := strings.Cut(c.want, "\r\n"); err != nil || len(m.Columns) != strings.Count(header, ",")+1 {
			t.Errorf("%s %s: the manifest has the columns %+v (%v)", c.report, c.parameters, m.Columns, err)
		}
	}
	if got, want := s.Files.Content(s.Jobs.Run("local", "")), "\ufeffk;amount;note\r\n1;-1,50;'=1+1\r\n1;-1,50;'=1+1\r\n2;;\r\n3;2,00;-7\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if v := s.Jobs.Run("chosen", `{"columns": ["day"]}`); v.Status != report.Failed || !strings.Contains(v.Error, "columns") {
		t.Errorf("a column that is not offered: %+v", v)
	}
	skipped := s.Jobs.Run("skipped", "")
	if skipped.Status != report.Success || skipped.File != "" || skipped.Rows == nil || *skipped.Rows != 0 {
		t.Errorf("%+v", skipped)
	}
	s.Files.None("skipped")
	if out, code := s.fanfold("url", skipped.ID); code == exitOK || !strings.Contains(out, report.NoRows) {
		t.Errorf("%d %s", code, out)
	}
	s.Jobs.Idle()
}

// unzip returns the files of an archive.
func unzip(t *testing.T, archive string) (names, texts []string) {
	t.Helper()
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		names, texts = append(names, f.Name), append(texts, string(text))
	}
	return names, texts
}
