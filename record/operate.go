package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// ErrRunning is returned by Retry for a record that is not final.
var ErrRunning = fault.Refused.New("still running")

// Retry makes a SUCCESS, PARTIAL, FAILED or CANCELLED record PENDING again and returns it; attempt
// and file stay, the error is cleared. The caller then pushes its id. Errors: engine.ErrNoRecord,
// and ErrRunning if the record is PENDING or PROCESSING.
func (s starter) Retry(ctx context.Context, id string) (engine.Record, error) {
	before, err := s.one(ctx, id)
	if err != nil {
		return before, err
	}
	if !before.Status.Final() {
		return before, fmt.Errorf("%w: record %s is %s", ErrRunning, id, before.Status)
	}
	if _, ok := s.statuses[before.Status]; !ok {
		return before, fmt.Errorf("record %s: status %q is not mapped: map it under records.statuses", id,
			before.Status)
	}
	done, err := s.retry(ctx, []engine.Run{{ID: id, Attempt: before.Attempt}}, report.Success, report.Partial,
		report.Failed, report.Cancelled)
	if err != nil {
		return before, err
	}
	after, err := s.one(ctx, id)
	if err == nil && !done[0] {
		return after, fmt.Errorf("%w: record %s became %s", ErrRunning, id, after.Status)
	}
	return after, err
}

// RetryFailed makes FAILED records of these attempts PENDING again like Retry, in one statement for
// up to 1000 records of an attempt. A result is true if the record is PENDING with that attempt
// now, whatever made it so; the caller pushes its id. If runs contains a record twice, only the
// first can be true. After an error some of the records may have changed.
func (s starter) RetryFailed(ctx context.Context, runs []engine.Run) ([]bool, error) {
	return s.retry(ctx, runs, report.Failed)
}

func (s starter) retry(ctx context.Context, runs []engine.Run, from ...report.Status) ([]bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	results := make([]bool, len(runs))
	for of, batch := range l.batches(runs) {
		n, err := s.update(ctx, l, change{of: batch, attempt: of.now, from: from, to: report.Pending,
			set: map[string]any{"error": nil}, retried: Contended})
		if err != nil {
			return nil, fmt.Errorf("retry of %d records: %w", len(batch), err)
		}
		all := n == int64(len(batch))
		var now map[string]engine.Record
		if !all {
			ids := make([]string, len(batch))
			for i, one := range batch {
				ids[i] = one.id
			}
			if now, err = s.Read(ctx, ids); err != nil {
				return nil, err
			}
		}
		for _, one := range batch {
			r := now[one.id]
			results[one.index] = all || r.ID == one.id && r.Status == report.Pending && r.Attempt == of.now
		}
	}
	return results, nil
}

// Filter selects the records that List returns: those that match all fields. The zero value matches
// all.
type Filter struct {
	Status     report.Status
	Open       bool // only records that are not final
	Report     string
	Since      time.Duration     // changed at most this long ago, by the database's clock; 0: any time
	Until      time.Duration     // changed at least this long ago
	Parameters map[string]string // name → value: strings as they are, anything else as JSON
	// AnyOf are parameters that have one of these values, which are strings.
	AnyOf map[string][]string
	// Within has the records that a user may see; nil: all.
	Within []report.Scope
}

// List returns at most limit records, the most recently changed first. The server stops when ctx's
// deadline passes: closing the connection would not stop the query there.
func (s reader) List(ctx context.Context, of Filter, limit int) ([]engine.Record, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	query, args, err := s.newest(ctx, l, of, s.selection(l), limit)
	if err != nil || query == "" {
		return nil, err
	}
	found, err := s.records(ctx, query, args...)
	if of.Within != nil && s.kind.Is(err, Unreadable) { // an owner is a text, and the column has numbers
		return nil, nil
	}
	return found, err
}

// Value is what a record has as the value of a parameter.
type Value struct {
	ID, Report string
	Status     report.Status
	Text       string // a string as it is, anything else as JSON; empty: the record has none, or it is too long
}

// maxValue is the maximum length of a value that Values reads, in bytes.
const maxValue = 4000

// Values returns the values of a parameter in the records that List returns.
func (s reader) Values(ctx context.Context, of Filter, name string, limit int) ([]Value, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	if _, ok := s.columns["parameters"]; !ok {
		return nil, errNoParameters
	}
	found, err := s.kind.Parameter(ctx, s.db.DB, l.parameters)
	if err != nil || !storable(name) {
		return nil, err
	}
	query, args, err := s.newest(ctx, l, of, fmt.Sprintf("SELECT %s, COALESCE({report text}, ''), {status text}, "+
		"CASE WHEN OCTET_LENGTH(%s) <= %d THEN %[2]s END FROM {table}", l.idText(), found, maxValue), limit)
	if err != nil || query == "" {
		return nil, err
	}
	member := s.kind.Member(name)
	values, err := collect(ctx, s.db, func(rows *sql.Rows) (v Value, err error) {
		var status, text sql.NullString
		err = rows.Scan(&v.ID, &v.Report, &status, &text)
		v.Status, v.Text = s.status(status.String), text.String
		return v, err
	}, s.sql(query), append([]any{member, member}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("values of %q: %w", name, err)
	}
	return values, nil
}

var errNoParameters = errors.New("the table has no column for parameters")

// newest returns the template of a SELECT for the records that a filter matches, the most recently changed first.
// Without one, none can match.
func (s reader) newest(ctx context.Context, l *layout, of Filter, selection string,
	limit int) (query string, args []any, err error) {
	where := "1 = 1"
	and := func(condition string, values ...any) {
		where, args = where+" AND "+condition, append(args, values...)
	}
	if of.Status != "" {
		if _, ok := s.statuses[of.Status]; !ok {
			return "", nil, fmt.Errorf("no status %q", of.Status)
		}
		and("{status} = ?", l.statuses[of.Status])
	}
	if of.Open {
		and("{status} IN (?, ?)", l.statuses[report.Pending], l.statuses[report.Processing])
	}
	if of.Report != "" {
		and("{report} = ?", of.Report)
	}
	if of.Since > 0 {
		and("{updated} >= {ago}", min(of.Since, ancient).Microseconds())
	}
	if of.Until > 0 {
		and("{updated} <= {ago}", min(of.Until, ancient).Microseconds())
	}
	if _, ok := s.columns["parameters"]; !ok && len(of.Parameters)+len(of.AnyOf) > 0 {
		return "", nil, errNoParameters
	}
	for name, value := range of.Parameters {
		if !storable(name) || !storable(value) {
			return "", nil, nil
		}
		values := []string{value}
		if json.Valid([]byte(value)) && !strings.HasPrefix(value, `"`) {
			// The server writes a number or a list as it likes to: MySQL writes 1.50 as 1.5.
			form, err := s.formOf(ctx, value)
			if err != nil {
				return "", nil, fmt.Errorf("parameter %q: %w", name, err)
			}
			if form.Valid {
				values = append(values, form.String)
			}
		}
		if err := s.anyOf(ctx, l, and, name, values); err != nil {
			return "", nil, err
		}
	}
	for name, values := range of.AnyOf {
		if err := s.anyOf(ctx, l, and, name, values); err != nil {
			return "", nil, err
		}
	}
	if of.Within != nil {
		condition, values := s.within(l, of.Within)
		and(condition, values...)
	}
	query = selection + " WHERE " + where + "{filter} ORDER BY {updated} DESC, {id} DESC LIMIT " +
		strconv.Itoa(max(0, limit))
	if end, ok := ctx.Deadline(); ok && s.kind.Within != nil {
		query = s.kind.Within(query, max(time.Until(end), time.Millisecond))
	}
	return query, args, nil
}

// anyOf adds the condition that a parameter has one of these texts.
func (s reader) anyOf(ctx context.Context, l *layout, and func(condition string, values ...any), name string,
	values []string) error {
	found, err := s.kind.Parameter(ctx, s.db.DB, l.parameters)
	if err != nil {
		return err
	}
	args := []any{s.kind.Member(name)}
	for _, value := range values {
		args = append(args, value)
	}
	and(found+" IN ("+strings.TrimSuffix(strings.Repeat("{bytes}, ", len(values)), ", ")+")", args...)
	return nil
}

// storable tells whether JSON of a database can contain a text.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// formOf returns how the server writes a JSON value; not valid: its JSON functions refuse the value, such as MySQL
// 1e400 and a hundred nested lists. A statement with such a value would fail, whatever its conditions.
func (s reader) formOf(ctx context.Context, value string) (form sql.NullString, err error) {
	err = s.db.QueryRowContext(ctx, s.sql("SELECT {form}"), value).Scan(&form)
	if s.kind.Is(err, Unreadable) {
		return sql.NullString{}, nil
	}
	return form, err
}

// CountStartable counts the records that a rebuild of an empty Redis would start: PENDING and
// PROCESSING ones that have not changed within the grace time.
func (s candidates) CountStartable(ctx context.Context, grace time.Duration) (pending, processing int64, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return 0, 0, err
	}
	condition, args := s.startable(l, report.Pending, grace)
	other, more := s.startable(l, report.Processing, grace)
	err = s.db.QueryRowContext(ctx, s.sql("SELECT (SELECT COUNT(*) FROM {table} WHERE "+condition+"), "+
		"(SELECT COUNT(*) FROM {table} WHERE "+other+")"), append(args, more...)...).Scan(&pending, &processing)
	if err != nil {
		return 0, 0, fmt.Errorf("count: %w", err)
	}
	return pending, processing, nil
}
