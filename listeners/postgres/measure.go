package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

var _ listeners.Measured = (*Source)(nil)

// measures asks for: the account, and whether it may see the statements of others; how many statements run; the 95th
// percentile of how long those of others have; and the lag in milliseconds, which is empty of a primary, -1 if nothing
// is replayed, and 0 if everything that the primary sends is. Without a primary that sends, the lag is the age of the
// last transaction that was replayed.
const measures = `SELECT current_user, pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
count(*), coalesce(extract(epoch FROM percentile_disc(0.95) WITHIN GROUP (ORDER BY clock_timestamp() - query_start)
	FILTER (WHERE usename <> session_user)) * 1000, 0)::bigint,
CASE WHEN NOT pg_is_in_recovery() THEN NULL WHEN pg_is_wal_replay_paused() THEN -1
	WHEN EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')
		AND pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn() THEN 0
	ELSE coalesce(greatest(0, extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000), -1)
END::bigint
FROM pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()`

// Measure implements listeners.Measured, with a connection of its own.
func (s *Source) Measure(ctx context.Context, limits report.Protect) (h report.Health, err error) {
	found, err := s.health.ask(ctx, measures)
	if err != nil || len(found) == 0 {
		return h, login(err)
	}
	row := found[0]
	if row[1] != "t" { // the server would hide the statements of others
		return h, fault.Denied.Of(&report.Mistake{
			Message: "its account lacks the role pg_monitor",
			Remedy:  "Run GRANT pg_monitor TO " + quoted(row[0]),
		})
	}
	if limits.ReplicaLag > 0 && row[4] == "" {
		return h, listeners.ErrNoReplica
	}
	var numbers [3]int64
	for i, text := range row[2:] {
		if text == "" {
			continue
		}
		if numbers[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return h, fmt.Errorf("measure %d: %w", i, err)
		}
	}
	h = report.Health{
		ThreadsRunning: int(numbers[0]), StatementP95: time.Duration(numbers[1]) * time.Millisecond,
		ReplicaLag: time.Duration(numbers[2]) * time.Millisecond,
	}
	if h.ReplicaLag < 0 {
		h.ReplicaLag = report.Stopped
	}
	return h, nil
}
