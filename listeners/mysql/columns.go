package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// errDuplicateColumn is the error of a query that gives two columns of one name.
const errDuplicateColumn = 1060

// columnsTime bounds how long a server derives columns. It runs a query that reads no table, such as SELECT SLEEP(600).
const columnsTime = 2 * time.Second

// Columns returns the columns of the query of a report's listener, with the types that a job gets. The server derives
// them without reading a row. It returns nil if the server does not tell them. An error of the kind
// fault.Underivable says that they, or their collations, are not known because of the query.
func (s *Source) Columns(
	ctx context.Context, r *report.Report, l *report.Listener,
) (columns []dataset.Column, err error) {
	text, args, err := dialect.QueryOf(l).Bind(func(name string) (any, bool) { return sample(r, name), true })
	if err != nil {
		return nil, listeners.Permanent(err)
	}
	of := *l
	of.Timeout = columnsTime
	session, err := s.open(ctx, &of)
	if err != nil {
		return nil, err
	}
	defer session.close(ctx)
	query, _, done := session.query(ctx)
	defer done()
	none := "SELECT *" + derived(text)
	err = session.conn.Raw(func(conn any) error {
		rows, err := session.start(query, conn, none, args)
		if err != nil {
			return err
		}
		defer rows.Close()
		columns, _, err = columnsOf(rows, l)
		return err
	})
	switch {
	case ctx.Err() == nil && time.Since(session.began) >= columnsTime:
		return nil, fault.Underivable.New("its columns are not known: the server did not tell them within %s, because it "+
			"runs a query that reads no table, or waits for a lock", columnsTime)
	case mysqldb.Answered(err, errDuplicateColumn):
		return nil, explain(ctx, l, err)
	case isUnderivable(err):
		return nil, fault.Underivable.Of(fmt.Errorf("its columns are not known: %w", err))
	case err != nil && ctx.Err() == nil:
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return columns, s.collate(ctx, l, columns)
}

// sample returns a value of a parameter's type, as a job binds it: a column that shows the parameter has that type.
func sample(r *report.Report, name string) any {
	for _, p := range r.Parameters {
		if p.Name != name {
			continue
		}
		switch p.Type {
		case report.ParamInteger:
			return int64(0)
		case report.ParamBoolean:
			return false
		case report.ParamDecimal:
			return "0"
		case report.ParamDate:
			return "2000-01-01"
		case report.ParamDatetime:
			return "2000-01-01 00:00:00"
		}
		return ""
	}
	return int64(0) // of another listener
}
