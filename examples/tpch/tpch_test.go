package tpch_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/examples/tpch"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// TestAsMariaDB: every report writes the file that MariaDB's answer makes, if it has all tables.
func TestAsMariaDB(t *testing.T) {
	t.Parallel()
	scale := 0.002
	if text := os.Getenv("TPCH_SCALE"); text != "" { // make tpch
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	geography := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(geography.Close)
	server := testmain.SharedDatabase(t)
	databases, sections := map[string]*sql.DB{}, ""
	schemas := map[string]string{}
	for _, place := range []string{"sales", "catalog", "purchasing"} {
		schema, db := testmain.Schema(t)
		schemas[place], databases[place] = schema, db
		sections += fmt.Sprintf(", %s: {dsn: %q}", place, server.DSN(schema))
	}
	if err := tpch.Load(t.Context(), databases, folder, scale, 1); err != nil {
		t.Fatal(err)
	}
	reports, err := filepath.Abs("reports")
	if err != nil {
		t.Fatal(err)
	}
	s := e2e.New(t, e2e.Who, "databases: {db: {dsn: \"{dsn}\"}"+sections+"}",
		fmt.Sprintf("apis: {geography: {url: %q}}", geography.URL), fmt.Sprintf("include: [%q]", reports+"/*.yaml"))
	together(s, schemas)
	s.Serve(s.File)
	var names []string
	for name := range s.Config.Reports {
		if name != "who" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) != 22 {
		t.Fatalf("%d reports", len(names))
	}
	for _, name := range names {
		r := s.Config.Reports[name]
		got := s.Jobs.Succeed(name, "{}")
		header, _, _ := strings.Cut(got, "\r\n")
		if want := s.Records.Expect(header, onOneServer(r)); got != want {
			t.Errorf("%s:\n%s\ngot\n%.2000s\nwant\n%.2000s", name, onOneServer(r), got, want)
		}
		t.Logf("%s: %d rows", name, strings.Count(got, "\r\n")-1)
	}
}

// together makes all tables visible in the schema of the stack.
func together(s *e2e.Stack, schemas map[string]string) {
	s.Helper()
	for _, table := range tpch.Tables {
		if schema, ok := schemas[table.Place]; ok {
			s.Records.Exec("CREATE VIEW " + table.Name + " AS SELECT * FROM " + schema + "." + table.Name)
			continue
		}
		s.Records.Exec("CREATE TABLE " + table.Name + " (" + table.Columns + ")")
	}
	if err := tpch.Rows(0.00001, 1, func(table string, row ...any) error {
		if table == "region" || table == "nation" {
			s.Records.Exec("INSERT INTO "+table+" VALUES (?"+strings.Repeat(", ?", len(row)-1)+")", row...)
		}
		return nil
	}); err != nil {
		s.Fatal(err)
	}
}

var (
	ofListener  = regexp.MustCompile(`:(\w+)\.(\w+)`)
	ofParameter = regexp.MustCompile(`:(\w+)`)
	order       = regexp.MustCompile(` ORDER BY [\w, ]+$`)
)

// onOneServer returns a report as one query: its listeners as WITH, and its fold.
func onOneServer(r *report.Report) string {
	var with []string
	for _, l := range r.Listeners() { // in the order of the stages
		if own, ok := l.Own.(*dialect.Fields); ok {
			text := order.ReplaceAllString(own.Text, "")
			with = append(with, l.Name+" AS ("+ofListener.ReplaceAllString(text, "SELECT $2 FROM $1")+")")
		}
	}
	query := "WITH " + strings.Join(with, ",\n") + "\n" + r.Fold
	return ofParameter.ReplaceAllStringFunc(query, func(name string) string {
		i := slices.IndexFunc(r.Parameters, func(p report.Parameter) bool { return ":"+p.Name == name })
		return strings.NewReplacer(`[`, "", `]`, "", `"`, "'").Replace(*r.Parameters[i].Default)
	})
}
