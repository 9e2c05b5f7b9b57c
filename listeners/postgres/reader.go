package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// reader writes what the query of a task finds.
type reader struct {
	task    listeners.Task
	of      report.Range // that it reads
	out     *listeners.Writer
	zone    *time.Location // of timestamps without zone
	columns []dataset.Column
	cells   []cell // one for each column
	rows    int64  // that were read
}

// bind gives the query's text and arguments.
func (r *reader) bind() (text string, args []any, err error) {
	l := r.task.Listener
	if r.zone, err = time.LoadLocation(l.Zone); err != nil {
		return "", nil, listeners.Permanent(err)
	}
	text, args, err = dialect.QueryOf(l).Bind(func(name string) (any, bool) {
		if l.From != nil && name == l.From.String() {
			return dialect.Array{Of: earlier{}}, true
		}
		v, ok := r.task.Parameters[name]
		if list, isList := v.([]any); isList {
			v = dialect.Array{Of: list}
		}
		return v, ok
	})
	if err != nil {
		return "", nil, listeners.Permanent(err)
	}
	return text, args, nil
}

// run executes the query and writes all of its rows. If the query uses values of an earlier stage and there are none,
// it only writes the columns.
func (r *reader) run(parent context.Context, s *session) error {
	text, args, err := r.bind()
	if err != nil {
		return err
	}
	query := text
	if divide := r.task.Listener.Divide; divide != nil {
		query = dialect.In(dialect.Postgres, text, divide.By, r.of)
	}
	statement, err := s.prepare(parent, query)
	if err != nil {
		return err
	}
	if err := r.describe(parent, s, statement, text); err != nil {
		return err
	}
	if s.asked {
		if statement, err = s.prepare(parent, query); err != nil {
			return err
		}
	}
	values, list, err := r.arguments(parent, statement.ParamOIDs, args)
	if err != nil || !list {
		return err
	}
	ctx, cancel := s.query(parent)
	defer cancel()
	rows := s.conn.ExecStatement(ctx, statement, values, nil, r.formats())
	values = nil // a long list is large, and reading takes its time
	for rows.NextRow() {
		if err := r.write(rows.Values()); err != nil {
			cancel() // Close would read all rows
			_, _ = rows.Close()
			return err
		}
	}
	if _, err := rows.Close(); err != nil {
		return s.fail(parent, ctx, err)
	}
	return nil
}

// describe takes the columns of the result.
func (r *reader) describe(
	ctx context.Context, s *session, of *pgconn.StatementDescription, text string,
) (err error) {
	l := r.task.Listener
	if r.columns, r.cells, err = s.columnsOf(ctx, of.Fields); err != nil {
		return explain(ctx, l, err)
	}
	if err := listeners.CompareNames(l.Columns, namesOf(r.columns)); err != nil {
		return listeners.Permanent(err)
	}
	if err := s.collate(ctx, text, len(of.ParamOIDs), r.columns); err != nil {
		return explain(ctx, l, err)
	}
	return r.out.Columns(r.columns)
}

// formats returns the forms in which the server sends the columns.
func (r *reader) formats() []int16 {
	formats := make([]int16, len(r.cells))
	for i, c := range r.cells {
		if c.form.binary() {
			formats[i] = 1
		}
	}
	return formats
}

// write gives the writer a row. The values are the driver's: they are not used after that.
func (r *reader) write(row [][]byte) error {
	b := r.out.Builder()
	r.rows++
	for i, value := range row {
		if err := r.cells[i].put(b, value); err != nil {
			return listeners.Permanent(fmt.Errorf("column %s: row %d%s: %w", r.columns[i].Name, r.rows,
				r.keyOf(row, i), err))
		}
	}
	return r.out.EndRow()
}

// keyOf returns what tells a row apart, for people: the value of the key of the join, or else of the first column.
// It is empty if that is the wrong column, or not a text or an integer.
func (r *reader) keyOf(row [][]byte, wrong int) string {
	at := 0
	if r.task.Report != nil {
		join := r.task.Report.Join
		for _, l := range join.Listeners {
			if keys := slices.Concat(l.Keys, join.Keys); l.Listener == r.task.Listener.Name && len(keys) > 0 {
				at = max(0, slices.IndexFunc(r.columns, func(c dataset.Column) bool { return c.Name == keys[0] }))
			}
		}
	}
	text := report.ShortenTo(string(row[at]), 40)
	switch c := r.cells[at]; {
	case at == wrong || row[at] == nil:
		return ""
	case c.form == formInt2 || c.form == formInt4 || c.form == formInt8:
		text = strconv.FormatInt(integer(row[at]), 10)
	case c.form.binary():
		return ""
	}
	return fmt.Sprintf(" (%s %s)", r.columns[at].Name, text)
}

// namesOf returns the names of columns.
func namesOf(columns []dataset.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// columnsOf returns the columns of a result.
func (s *session) columnsOf(
	ctx context.Context, fields []pgconn.FieldDescription,
) (columns []dataset.Column, cells []cell, err error) {
	for i, f := range fields {
		of, err := s.typeOf(ctx, f.DataTypeOID)
		if err != nil {
			return nil, nil, err
		}
		columns = append(columns, columnOf(f, of, s.listener.Zone))
		cells = append(cells, cell{valueType: of, column: i})
	}
	return columns, cells, nil
}
