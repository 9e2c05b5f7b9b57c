package record

import (
	"context"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// Startable implements recovery.Records: one SELECT. For each of the two statuses
// an index on status and id, such as Fanfold's own table has it, gives the next
// rows in their order; without one the server walks over the ids, and reads the
// table once for all pages of a pass.
func (s *Store) Startable(ctx context.Context, after string, grace time.Duration, n int) ([]engine.Record, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	query, args := s.startableQuery(l, after, grace, n)
	return s.records(ctx, query, args...)
}

func (s *Store) startableQuery(l *layout, after string, grace time.Duration, most int) (query string, args []any) {
	limit := " LIMIT " + strconv.Itoa(max(0, most))
	where := s.columns["status"] + " = ? AND (" + s.columns["updated"] + " IS NULL OR " + s.columns["updated"] + " <= NOW(6) - INTERVAL ? MICROSECOND)"
	one := func(status report.Status) string {
		args = append(args, l.statuses[status], grace.Microseconds())
		more := ""
		if arg, ok := l.argument(after); ok && after != "" {
			more, args = " AND "+s.columns["id"]+" > ?", append(args, arg)
		}
		return "(" + s.selection() + " WHERE " + where + more + s.filter + " ORDER BY " + s.columns["id"] + limit + ")"
	}
	return one(report.Pending) + " UNION ALL " + one(report.Processing) + " ORDER BY 1" + limit, args
}
