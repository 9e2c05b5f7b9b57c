package record

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// maxReason is the maximum number of bytes of an error text, even if the column could store more.
const maxReason = 4000

// layout is what the database says about the table.
type layout struct {
	integerID bool
	statuses  map[report.Status]any // bound as the column's type, so that indexes are used
	reason    size                  // maximum size of the error column
	file      int                   // characters of the file column; 0: unknown
	id        int                   // characters of an id; 0: unknown
	nullable  map[string]bool       // Fanfold's names of columns that accept NULL
	created   string                // quoted column with the time of the insert; empty: none

	createdMoves bool // an UPDATE may change created
	createdZoned bool // created is a TIMESTAMP: a session sees it in its own time zone
}

// size is an amount of text.
type size struct{ bytes, characters int }

// Check checks that the table and its columns exist, can be read and have usable types. It changes
// nothing.
func (s *mapping) Check(ctx context.Context) error {
	l, err := s.learn(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layout = l
	return nil
}

// Widths returns the number of characters of the file column, 0 if unknown, and the maximum length
// of an id.
func (s *mapping) Widths(ctx context.Context) (file, id int, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return 0, 0, err
	}
	const integerDigits, longestID = 20, 64
	switch {
	case l.integerID:
		return l.file, integerDigits, nil
	case l.id > 0:
		return l.file, min(l.id, longestID), nil
	}
	return l.file, longestID, nil
}

// known returns the layout, and reads it first if necessary.
func (s *mapping) known(ctx context.Context) (*layout, error) {
	s.mu.Lock()
	l := s.layout
	s.mu.Unlock()
	if l != nil {
		return l, nil
	}
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	return s.known(ctx)
}

func (s *mapping) learn(ctx context.Context) (*layout, error) {
	var names, list []string
	for name, column := range s.columns {
		names, list = append(names, name), append(list, column)
	}
	rows, err := s.db.QueryContext(ctx, s.sql("SELECT "+strings.Join(list, ", ")+
		" FROM {table} WHERE 1 = 1{filter} LIMIT 0"))
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", s.table, err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", s.table, err)
	}
	kinds := map[string]string{}
	for i, name := range names {
		kinds[name] = types[i].DatabaseTypeName()
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("table %s: %w", s.table, err)
	}
	for name, ok := range map[string]bool{
		"id":      integer(kinds["id"]) || text(kinds["id"]),
		"status":  integer(kinds["status"]) || text(kinds["status"]),
		"attempt": integer(kinds["attempt"]),
		"file":    text(kinds["file"]),
		"updated": kinds["updated"] == "DATETIME" || kinds["updated"] == "TIMESTAMP",
		"created": kinds["created"] == "DATETIME" || kinds["created"] == "TIMESTAMP" || kinds["created"] == "",
	} {
		if !ok {
			return nil, fmt.Errorf("column %s.%s of type %s cannot be used for %s", s.table, s.columns[name],
				kinds[name], name)
		}
	}
	l := &layout{created: s.columns["created"], integerID: integer(kinds["id"]), statuses: map[report.Status]any{},
		reason: size{maxReason, maxReason}, nullable: map[string]bool{}, createdZoned: kinds["created"] == "TIMESTAMP"}
	for status, value := range s.statuses {
		l.statuses[status] = value
		if integer(kinds["status"]) {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil && status == s.unused {
				delete(l.statuses, status)
				continue
			} else if err != nil {
				return nil, fmt.Errorf("value %q for %s, but column %s is an integer: map it under records.statuses",
					value, status, s.columns["status"])
			}
			l.statuses[status] = n
		}
	}
	return l, s.measure(ctx, l)
}

// measure reads the sizes of text columns, and whether there is a readable created_at. If the
// database does not say, as for some views, defaults stay.
func (s *mapping) measure(ctx context.Context, l *layout) error {
	rows, err := s.db.QueryContext(ctx, `SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, EXTRA, PRIVILEGES,
		CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`, s.names.schema, s.names.table)
	if err != nil {
		return fmt.Errorf("columns of %s: %w", s.table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind, null, extra, privileges string
		var length, octets sql.NullInt64
		if err := rows.Scan(&name, &kind, &null, &extra, &privileges, &length, &octets); err != nil {
			return fmt.Errorf("columns of %s: %w", s.table, err)
		}
		for column, plain := range s.plain {
			if strings.EqualFold(name, plain) {
				l.nullable[column] = null == "YES"
			}
		}
		if time := strings.HasPrefix(kind, "datetime") || strings.HasPrefix(kind, "timestamp"); time &&
			!s.mapsCreated &&
			strings.EqualFold(name, "created_at") && strings.Contains(privileges, "select") {
			l.created = quote(name)
		}
		if l.created != "" && strings.EqualFold(quote(name), l.created) {
			l.createdMoves = strings.Contains(strings.ToLower(extra), "on update")
			l.createdZoned = strings.HasPrefix(kind, "timestamp")
		}
		switch {
		case strings.EqualFold(name, s.plain["error"]) && length.Valid:
			l.reason = size{int(min(octets.Int64, maxReason)), int(min(length.Int64, maxReason))}
		case strings.EqualFold(name, s.plain["file"]) && length.Valid:
			l.file = int(length.Int64)
		case strings.EqualFold(name, s.plain["id"]) && length.Valid:
			l.id = int(length.Int64)
		case strings.EqualFold(name, s.plain["status"]) && length.Valid:
			if err := s.fits(kind, int(length.Int64)); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}

// fits checks that a text column for the status can store every value.
func (s *mapping) fits(kind string, length int) error {
	for status, value := range s.statuses {
		missing := strings.HasPrefix(kind, "enum(") &&
			!strings.Contains(strings.ToLower(kind), strings.ToLower("'"+value+"'"))
		if (missing || len(value) > length) && status != s.unused {
			return fmt.Errorf("value %q for %s does not fit column %s, which is %s: map it under records.statuses",
				value, status, s.columns["status"], kind)
		}
	}
	return nil
}

func integer(kind string) bool { return strings.HasSuffix(kind, "INT") }

func text(kind string) bool {
	switch kind {
	case "CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM", "BINARY", "VARBINARY":
		return true
	}
	return false
}
