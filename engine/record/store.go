package record

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/group"
	"github.com/fanfold/fanfold/report"
)

// maxIDs bounds the ids in one statement.
const maxIDs = 1000

// Store is the record table. All methods are safe for concurrent use, and return
// errors of the driver wrapped, for errors.As with *mysql.MySQLError.
type Store struct {
	db       *sql.DB
	table    string            // quoted
	names    tableName         // as in information_schema
	plain    map[string]string // Fanfold's name → the table's; none where the table has none
	columns  map[string]string // the same, quoted
	statuses map[report.Status]string
	unused   report.Status // that the table need not take; empty: none
	filter   string        // " AND (…)" or empty
	most     int64         // bytes of parameters that are read

	mapsCreated bool // the options say which column is created, or that none is

	mu     sync.Mutex
	layout *layout // nil until it is learnt

	successes *group.Group[*success]
}

var _ engine.Records = (*Store)(nil)

// New returns the store of a table, without any I/O. What options leaves out has
// the names of Fanfold's own table: the columns are named as in
// report.RecordColumns, save updated_at and row_count for updated and rows. The
// caller keeps db, which is from mysqldb.ConnectRecords, and closes it.
func New(db *sql.DB, options report.Records) (*Store, error) {
	s := &Store{db: db, plain: map[string]string{}, columns: map[string]string{}, statuses: map[report.Status]string{},
		most: cmp.Or(options.Parameters, math.MaxInt64)}
	s.successes = group.New(maxSuccesses, s.succeedTogether)
	var err error
	if s.names, err = parseTable(cmp.Or(options.Table, report.DefaultTable)); err != nil {
		return nil, err
	}
	s.table = s.names.quoted()
	if err := s.mapColumns(options.Columns); err != nil {
		return nil, err
	}
	if err := s.mapStatuses(options.Statuses); err != nil {
		return nil, err
	}
	if _, mapped := options.Statuses[string(report.Partial)]; !mapped && !options.Partial {
		s.unused = report.Partial
	}
	if options.Filter != "" {
		// The line break ends a comment that the filter may end with.
		s.filter = " AND (" + options.Filter + "\n)"
	}
	return s, nil
}

func (s *Store) mapColumns(given map[string]string) error {
	s.mapsCreated = given["created"] != ""
	for column := range given {
		if _, ok := report.RecordColumns[column]; !ok {
			return fmt.Errorf("record: column %q that a record does not have", column)
		}
	}
	defaults := map[string]string{"updated": "updated_at", "rows": "row_count"}
	for column, required := range report.RecordColumns {
		if column == "created" && given[column] == "" {
			continue // it is read if the table has it: see measure
		}
		name := cmp.Or(given[column], defaults[column], column)
		if name == "-" && required {
			return fmt.Errorf("record: column %q mapped to nothing, but a record needs it", column)
		}
		if name == "-" {
			continue
		}
		if !identifier.MatchString(name) {
			return fmt.Errorf("record: column name %q", name)
		}
		s.plain[column], s.columns[column] = name, quote(name)
	}
	return nil
}

func (s *Store) mapStatuses(given map[string]string) error {
	all := []report.Status{report.Pending, report.Processing, report.Success, report.Partial, report.Failed, report.Cancelled}
	for _, status := range all {
		s.statuses[status] = string(status)
	}
	for status, value := range given {
		if _, ok := s.statuses[report.Status(status)]; !ok {
			return fmt.Errorf("record: status %q that a record does not have", status)
		}
		s.statuses[report.Status(status)] = value
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if strings.EqualFold(s.statuses[a], s.statuses[b]) {
				return fmt.Errorf("record: value %q for both %s and %s", s.statuses[a], a, b)
			}
		}
	}
	return nil
}

// status is the Fanfold status for a value of the table; a value that is not
// mapped is returned as it is, and is final.
func (s *Store) status(value string) report.Status {
	for status, mapped := range s.statuses {
		if strings.EqualFold(mapped, value) {
			return status
		}
	}
	if _, taken := s.statuses[report.Status(value)]; taken {
		return report.Status("unmapped " + value)
	}
	return report.Status(value)
}

var identifier = regexp.MustCompile("^" + report.Identifier + "$")

func quote(name string) string { return "`" + name + "`" }

// tableName is a table, with its schema where the connection's is not meant.
type tableName struct{ schema, table string }

func parseTable(name string) (tableName, error) {
	schema, table, two := strings.Cut(name, ".")
	if !two {
		schema, table = "", name
	}
	if !identifier.MatchString(table) || two && !identifier.MatchString(schema) {
		return tableName{}, fmt.Errorf("record: table name %q: %w", name, errName)
	}
	return tableName{schema, table}, nil
}

var errName = errors.New("write table or schema.table, of letters, digits, _ and $")

func (t tableName) quoted() string {
	if t.schema == "" {
		return quote(t.table)
	}
	return quote(t.schema) + "." + quote(t.table)
}

func (t tableName) unquoted() string {
	if t.schema == "" {
		return t.table
	}
	return t.schema + "." + t.table
}
