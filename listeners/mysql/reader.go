package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// reader writes what the query of a task finds.
type reader struct {
	source  *Source
	task    listeners.Task
	of      report.Range // that it reads
	out     *listeners.Writer
	columns []dataset.Column // nil before the result
	cells   []cell           // one for each column
}

// bind gives the query's text and arguments; list has the values of an earlier stage.
func (r *reader) bind(list dialect.Literals) (text string, args []any, err error) {
	l := r.task.Listener
	zone, err := time.LoadLocation(l.Zone)
	if err != nil {
		return "", nil, listeners.Permanent(err)
	}
	text, args, err = dialect.QueryOf(l).Bind(func(name string) (any, bool) {
		if l.From != nil && name == l.From.String() {
			return list, true
		}
		v, ok := r.task.Parameters[name]
		return inZone(v, zone), ok
	})
	if err == nil && len(args) > maxPlaceholders {
		err = fmt.Errorf("%d values in one statement, more than the %d that MySQL takes", len(args), maxPlaceholders)
	}
	if err != nil {
		return "", nil, listeners.Permanent(err)
	}
	return text, args, nil
}

// inZone returns the value of a parameter as the server takes it: an instant as the datetime that a
// zone shows.
func inZone(value any, zone *time.Location) any {
	switch v := value.(type) {
	case time.Time:
		return v.In(zone).Format("2006-01-02 15:04:05.999999")
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = inZone(v[i], zone)
		}
		return list
	}
	return value
}

// maxPlaceholders is what the protocol can count.
const maxPlaceholders = 65535

// run executes the query and writes all of its rows; none where it asks for the values
// of an earlier stage and there are none: then only the columns are learnt.
func (r *reader) run(parent context.Context, s *session, list dialect.Literals) error {
	text, args, err := r.bind(list)
	if err != nil {
		return err
	}
	if divide := r.task.Listener.Divide; divide != nil {
		text = dialect.In(dialect.MySQL, text, divide.By, r.of)
	}
	ctx, abort, done := s.query(parent)
	defer done()
	fail := func(err error) error { return s.fail(parent, ctx, err) }
	none := r.task.Listener.From != nil && list == ""
	err = s.conn.Raw(func(conn any) error {
		rows, err := s.start(ctx, conn, text, args)
		text = "" // with a long list it is large, and reading takes its time
		if err != nil {
			return fail(err)
		}
		defer rows.Close()
		if err := r.describe(parent, rows); err != nil {
			abort() // closing the rows would read all of them
			return err
		}
		values := make([]driver.Value, len(r.columns))
		for {
			switch err := rows.Next(values); {
			case err == io.EOF: // itself: wrapped, it is a connection that broke
				return nil
			case err != nil:
				return fail(err)
			case none:
				abort()
				return nil
			}
			if err := r.write(values); err != nil {
				abort()
				return err
			}
		}
	})
	if err != nil || none {
		return err
	}
	return s.interrupted(ctx)
}

// write gives the writer a row. The values are the driver's: they are not used
// after that.
func (r *reader) write(row []driver.Value) error {
	b := r.out.Builder()
	for i, value := range row {
		if err := r.cells[i].put(b, value); err != nil {
			return listeners.Permanent(fmt.Errorf("column %s: %w", r.columns[i].Name, err))
		}
	}
	return r.out.EndRow()
}

// describe takes the columns of the result.
func (r *reader) describe(ctx context.Context, rows driver.Rows) (err error) {
	if r.columns, r.cells, err = columnsOf(rows, r.task.Listener); err != nil {
		return err
	}
	if err := listeners.CompareNames(r.task.Listener.Columns, rows.Columns()); err != nil {
		return listeners.Permanent(err)
	}
	if err := r.source.collate(ctx, r.task.Listener, r.columns); err != nil && !errors.Is(err, fault.Underivable) {
		return err
	}
	return r.out.Columns(r.columns)
}

// columnsOf returns the columns of a result.
func columnsOf(rows driver.Rows, l *report.Listener) ([]dataset.Column, []cell, error) {
	types, ok := rows.(driver.RowsColumnTypeDatabaseTypeName)
	if !ok {
		return nil, nil, fmt.Errorf("rows of Go type %T do not say their types", rows)
	}
	names := slices.Clone(rows.Columns())
	columns := make([]dataset.Column, len(names))
	cells := make([]cell, len(names))
	for i, name := range names {
		kind := types.ColumnTypeDatabaseTypeName(i)
		columns[i] = dataset.Column{Name: name, Kind: kindOf(kind)}
		switch kind {
		case "FLOAT", "UNSIGNED FLOAT":
			columns[i].Bits = 32
		case "DATETIME": // a TIMESTAMP is in the session's zone, UTC
			columns[i].Zone = l.Zone
		}
		cells[i] = cell{column: i, kind: columns[i].Kind, bits: kind == "BIT"}
		columns[i].Unsigned = strings.HasPrefix(kind, "UNSIGNED ") && columns[i].Kind == report.KindInteger ||
			kind == "BIT"
		columns[i].Digits, columns[i].Scale = digitsOf(rows, i, columns[i].Kind)
		switch columns[i].Kind {
		case report.KindFloat:
			cells[i].decimals, cells[i].fixed = decimalsOf(rows, i)
			columns[i].Fixed = cells[i].fixed
			columns[i].Zerofill = zerosOf(rows, i)
		case report.KindDatetime, report.KindTime:
			_, columns[i].Fixed = decimalsOf(rows, i)
		case report.KindInteger:
			columns[i].Zerofill = zerosOf(rows, i)
		}
	}
	return columns, cells, nil
}
