package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
)

// reader writes what the query of a task finds.
type reader struct {
	task    listeners.Task
	out     *listeners.Writer
	zone    *time.Location // of timestamps without zone
	columns []dataset.Column
	cells   []cell // one for each column
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
	statement, err := s.prepare(parent, text)
	if err != nil {
		return err
	}
	if err := r.describe(parent, s, statement, text); err != nil {
		return err
	}
	if s.asked {
		if statement, err = s.prepare(parent, text); err != nil {
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
	for i, value := range row {
		if err := r.cells[i].put(b, value); err != nil {
			return listeners.Permanent(fmt.Errorf("column %s: %w", r.columns[i].Name, err))
		}
	}
	return r.out.EndRow()
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
