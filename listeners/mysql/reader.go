package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// reader writes what the query of a task finds.
type reader struct {
	task    listeners.Task
	out     *listeners.Writer
	columns []report.Column // nil before the first result
	cells   []any           // of *cell
}

// bind gives the query's text and arguments; list is for the values of an
// earlier stage.
func (r *reader) bind(list []any) (text string, args []any, err error) {
	l := r.task.Listener
	text, args, err = l.Query.Bind(func(name string) (any, bool) {
		if l.From != nil && name == l.From.String() {
			return list, true
		}
		v, ok := r.task.Parameters[name]
		return v, ok
	})
	if err == nil && len(args) > maxPlaceholders {
		err = fmt.Errorf("%d values in one statement, more than the %d that MySQL takes", len(args), maxPlaceholders)
	}
	if err != nil {
		return "", nil, listeners.Permanent(err)
	}
	return text, args, nil
}

// maxPlaceholders is what the protocol can count.
const maxPlaceholders = 65535

// run executes the query once and writes all of its rows; none where list is
// empty and not nil: then only the columns are learnt.
func (r *reader) run(parent context.Context, s *session, list []any) (err error) {
	text, args, err := r.bind(list)
	if err != nil {
		return err
	}
	ctx, abort, done := s.query(parent)
	defer done()
	fail := func(err error) error {
		if parent.Err() == nil && errors.Is(context.Cause(ctx), ErrTimeout) {
			return timedOut(s.listener)
		}
		return explain(parent, s.listener, err)
	}
	statement, err := s.prepare(ctx, text)
	if err != nil {
		return fail(err)
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return fail(err)
	}
	defer rows.Close()
	if err := r.describe(rows); err != nil {
		abort() // closing the rows would read all of them
		return err
	}
	for rows.Next() {
		if list != nil && len(list) == 0 {
			abort()
			return nil
		}
		if err := rows.Scan(r.cells...); err != nil {
			if ctx.Err() != nil {
				return fail(err)
			}
			abort()
			return listeners.Permanent(err)
		}
		if err := r.out.EndRow(); err != nil {
			abort()
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	return nil
}

// describe takes the columns of the first result, and proves that every result
// has the same ones.
func (r *reader) describe(rows *sql.Rows) error {
	l := r.task.Listener
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	columns := make([]report.Column, len(types))
	names := make([]string, len(types))
	cells := make([]any, len(types))
	for i, t := range types {
		names[i] = t.Name()
		columns[i] = report.Column{Name: t.Name(), Kind: kindOf(t.DatabaseTypeName())}
		cells[i] = &cell{out: r.out, column: i, kind: columns[i].Kind, bits: t.DatabaseTypeName() == "BIT"}
	}
	if r.columns != nil {
		if !slices.Equal(r.columns, columns) {
			return listeners.Permanent(fmt.Errorf("columns of one batch are %v, of another %v", r.columns, columns))
		}
		return nil
	}
	if err := compareNames(l.Columns, names); err != nil {
		return listeners.Permanent(err)
	}
	r.columns, r.cells = columns, cells
	return r.out.Columns(columns)
}

func compareNames(want, got []string) error {
	for i, name := range got {
		if slices.Contains(got[:i], name) {
			return fmt.Errorf("the query gives column %s twice: give one of them an alias with AS", name)
		}
	}
	if slices.Equal(want, got) {
		return nil
	}
	return fmt.Errorf("the query gives the columns [%s], but the listener's columns are [%s]: they must be the same, in the same order",
		strings.Join(got, ", "), strings.Join(want, ", "))
}
