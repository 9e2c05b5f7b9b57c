package query_test

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/mysql"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// bench compares queries with those of a MariaDB.
type bench struct {
	testing.TB
	admin      *sql.DB
	conn       listeners.Connection
	sets       map[string]queries.Dataset
	parameters expr.Parameters // of the report
}

// newBench returns a bench with the tables of statements.
func newBench(t testing.TB, statements ...string) *bench {
	t.Helper()
	schema, admin := testmain.Schema(t)
	conn, err := mysql.Kind.OpenDatabase(report.Database{
		DSN: report.Secret(testmain.SharedDatabase(t).DSN(schema)), Bound: report.Bound{}, MaxConnections: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	b := &bench{TB: t, admin: admin, conn: conn, sets: map[string]queries.Dataset{}}
	for _, s := range statements {
		if _, err := admin.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return b
}

// memory is a dataset of one or more chunks.
type memory struct {
	columns []dataset.Column
	chunks  [][][]byte
}

func (m *memory) Columns() []dataset.Column { return m.columns }
func (m *memory) Rows() int64               { return 0 }
func (m *memory) Chunks() int64             { return int64(len(m.chunks)) }
func (m *memory) Chunk(n int64, numbers []int) (*dataset.Chunk, error) {
	columns, fields := make([]dataset.Column, len(numbers)), make([][]byte, len(numbers))
	for i, c := range numbers {
		columns[i], fields[i] = m.columns[c], m.chunks[n][c]
	}
	return dataset.DecodeChunk(columns, fields)
}

// ask runs a query on the server, as a listener does.
func (b *bench) ask(query string) (*memory, error) {
	b.Helper()
	q, err := dialect.MySQL.Parse(query)
	if err != nil {
		return nil, err
	}
	var names []string
	rows, err := b.admin.Query(query)
	if err != nil {
		return nil, err
	}
	names, err = rows.Columns()
	_ = rows.Close()
	if err != nil {
		return nil, err
	}
	m := &memory{}
	out := listeners.NewWriter(func(columns []dataset.Column, builder *dataset.Builder, _ bool) error {
		m.columns = columns
		var chunk [][]byte
		for _, field := range builder.Fields() {
			chunk = append(chunk, append([]byte(nil), field...))
		}
		m.chunks = append(m.chunks, chunk)
		return nil
	})
	task := listeners.Task{ID: "1", Attempt: 1, Listener: &report.Listener{
		Name: "l", Source: "d", Own: &dialect.Fields{Text: q.Text, Query: q}, Columns: names, Timeout: time.Minute,
	}}
	if err := b.conn.Read(b.Context(), task, out); err != nil {
		out.Stop()
		return nil, err
	}
	return m, out.Close()
}

// load reads tables as datasets.
func (b *bench) load(tables ...string) {
	b.Helper()
	for _, name := range tables {
		m, err := b.ask("SELECT * FROM " + name + " ORDER BY id")
		if err != nil {
			b.Fatal(err)
		}
		b.sets[name] = m
	}
}

// collector takes rows as texts.
type collector struct{ rows []string }

func (c *collector) Add(row op.Row) error {
	texts := make([]string, len(row))
	for i, cell := range row {
		if texts[i] = string(cell); dataset.IsNull(cell) {
			texts[i] = "null"
		}
	}
	c.rows = append(c.rows, strings.Join(texts, " | "))
	return nil
}

func (c *collector) End() error { return nil }

// run runs a query of a fold with a budget of memory; 0: no limit.
func (b *bench) run(query string, budget int64) (columns []dataset.Column, rows []string, err error) {
	q, err := parse.Parse(query)
	if err != nil {
		return nil, nil, err
	}
	plan, err := queries.New(q, b.sets, b.parameters)
	if err != nil {
		return nil, nil, err
	}
	rows, err = b.rowsOf(plan, budget)
	if plan.Leave(); plan.Over(b.sets) { // a plan that is used again gives the same
		again, errAgain := b.rowsOf(plan, budget)
		if !slices.Equal(again, rows) || fmt.Sprint(errAgain) != fmt.Sprint(err) {
			b.Errorf("%s: the second run gives %q, %v, not %q, %v", query, again, errAgain, rows, err)
		}
	}
	return plan.Columns(), rows, err
}

func (b *bench) rowsOf(plan *queries.Plan, budget int64) ([]string, error) {
	m := op.NewMemory(b.Context(), budget, func() (op.Scratch, error) { return os.CreateTemp(b.TempDir(), "") })
	defer m.Close()
	c := &collector{}
	_, err := plan.Run(m, c)
	return c.rows, err
}

// texts returns the rows of a dataset.
func (m *memory) texts() []string {
	c := &collector{}
	for n := range m.chunks {
		numbers := make([]int, len(m.columns))
		for i := range numbers {
			numbers[i] = i
		}
		chunk, err := m.Chunk(int64(n), numbers)
		if err != nil {
			return []string{err.Error()}
		}
		for r := range chunk.Rows() {
			row := make(op.Row, len(m.columns))
			for i := range m.columns {
				row[i] = chunk.Cell(i, r)
			}
			_ = c.Add(row)
		}
	}
	return c.rows
}

// compare returns how a fold differs from the server, with the first rows; empty: it does not.
func (b *bench) compare(query string, budget int64) string {
	b.Helper()
	want, wantErr := b.ask(query)
	columns, got, err := b.run(query, budget)
	switch {
	case wantErr != nil && err != nil:
		return ""
	case wantErr != nil || err != nil:
		return fmt.Sprintf("%s\n  fold: %v, %v\n  server: %v", query, got, err, wantErr)
	}
	var kinds, wantKinds []string
	for i := range columns {
		kinds, wantKinds = append(kinds, string(columns[i].Kind)), append(wantKinds, string(want.columns[i].Kind))
	}
	rows := want.texts()
	if strings.Join(got, "\n") == strings.Join(rows, "\n") {
		return ""
	}
	for i := range max(len(got), len(rows)) {
		a, s := "(none)", "(none)"
		if i < len(got) {
			a = got[i]
		}
		if i < len(rows) {
			s = rows[i]
		}
		if a != s {
			return fmt.Sprintf("%s\n  row %d of %d and %d\n  fold:   %s\n  server: %s\n  %v\n  %v", query, i+1, len(got), len(rows), a, s, kinds, wantKinds)
		}
	}
	return ""
}
