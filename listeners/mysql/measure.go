package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

var _ listeners.Measured = (*Source)(nil)

const (
	errSyntax      = 1064
	errNoPrivilege = 1227
)

// measuring is a connection on which a server is asked how busy it is.
type measuring struct {
	conn    *sql.Conn
	version string
	account string // as GRANT names it
	user    string // of the login
}

// Measure implements listeners.Measured, with a connection of its own.
func (s *Source) Measure(ctx context.Context, limits report.Protect) (h report.Health, err error) {
	conn, err := s.health.Conn(ctx)
	if err != nil {
		return h, login(err)
	}
	defer func() {
		if mysqldb.Answered(err, errNoPrivilege) { // a connection never gets a privilege that is granted later
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close()
	}()
	m := &measuring{conn: conn}
	if err := conn.QueryRowContext(ctx, "SELECT VERSION(), CURRENT_USER(), USER()").
		Scan(&m.version, &m.account, &m.user); err != nil {
		return h, err
	}
	if limits.ThreadsRunning > 0 {
		var name string
		if err := conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_running'").
			Scan(&name, &h.ThreadsRunning); err != nil {
			return h, err
		}
		h.ThreadsRunning = max(0, h.ThreadsRunning-1) // without this one
	}
	if limits.ReplicaLag > 0 {
		if h.ReplicaLag, err = m.lag(ctx); err != nil {
			return h, err
		}
	}
	if limits.StatementP95 > 0 {
		h.StatementP95, err = m.others(ctx)
	}
	return h, err
}

func (m *measuring) mariaDB() bool { return strings.Contains(m.version, "MariaDB") }

// lag returns the longest lag of all channels of a replica.
func (m *measuring) lag(ctx context.Context) (time.Duration, error) {
	statement, privilege := "SHOW REPLICA STATUS", "REPLICATION CLIENT"
	if m.mariaDB() {
		statement = "SHOW ALL SLAVES STATUS" // the other one has only the channel without a name
		if major, minor := m.numbers(); major > 10 || major == 10 && minor >= 5 {
			privilege = "REPLICA MONITOR"
		}
	}
	rows, err := m.conn.QueryContext(ctx, statement)
	if mysqldb.Answered(err, errSyntax) { // MySQL before 8.0.22
		rows, err = m.conn.QueryContext(ctx, "SHOW SLAVE STATUS")
	}
	if err != nil {
		return 0, m.lacks(err, privilege)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	values, into, seconds := make([]sql.NullString, len(columns)), make([]any, len(columns)), -1
	for i, name := range columns {
		if into[i] = &values[i]; strings.HasPrefix(name, "Seconds_Behind_") {
			seconds = i
		}
	}
	longest, channels := time.Duration(0), 0
	for ; seconds >= 0 && rows.Next(); channels++ {
		if err := rows.Scan(into...); err != nil {
			return 0, err
		}
		lag := report.Stopped
		if n, err := strconv.ParseInt(values[seconds].String, 10, 32); err == nil {
			lag = time.Duration(n) * time.Second
		}
		longest = max(longest, lag)
	}
	if err := rows.Err(); err != nil || channels > 0 {
		return longest, m.lacks(err, privilege)
	}
	return 0, listeners.ErrNoReplica
}

// numbers returns the first two numbers of the version; 0: there is none.
func (m *measuring) numbers() (major, minor int) {
	numbers := strings.SplitN(m.version, ".", 3)
	if len(numbers) == 3 {
		major, _ = strconv.Atoi(numbers[0])
		minor, _ = strconv.Atoi(numbers[1])
	}
	return major, minor
}

// others returns the 95th percentile of the time for which the statements of other users have been running. MySQL has
// whole seconds.
func (m *measuring) others(ctx context.Context) (time.Duration, error) {
	// Without the privilege, the server shows the statements of this user alone, and no error.
	if _, err := m.conn.ExecContext(ctx, "SELECT 1 FROM information_schema.INNODB_METRICS LIMIT 1"); err != nil {
		return 0, m.lacks(err, "PROCESS")
	}
	column := "TIME * 1000"
	if m.mariaDB() {
		column = "TIME_MS"
	}
	rows, err := m.conn.QueryContext(ctx, "SELECT CAST("+column+" AS SIGNED) FROM information_schema.PROCESSLIST "+
		"WHERE COMMAND IN ('Query', 'Execute', 'Fetch') AND USER NOT IN ('system user', 'event_scheduler', ?)",
		m.user[:max(0, strings.LastIndexByte(m.user, '@'))])
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var all []time.Duration
	for rows.Next() {
		var took sql.NullInt64 // NULL of one that has just begun
		if err := rows.Scan(&took); err != nil {
			return 0, err
		}
		all = append(all, time.Duration(took.Int64)*time.Millisecond)
	}
	return report.P95(all), rows.Err()
}

// lacks adds to an error of the server which privilege the account needs.
func (m *measuring) lacks(err error, privilege string) error {
	if !mysqldb.Answered(err, errNoPrivilege) {
		return err
	}
	name, host := m.account, ""
	if at := strings.LastIndexByte(m.account, '@'); at >= 0 {
		name, host = m.account[:at], "@"+quote(m.account[at+1:])
	}
	return fault.Denied.Of(fmt.Errorf("%w: %w", &report.Mistake{
		Message: "its account lacks the privilege " + privilege,
		Remedy:  "Run GRANT " + privilege + " ON *.* TO " + cmp.Or(quote(name), "''") + host,
	}, err))
}
