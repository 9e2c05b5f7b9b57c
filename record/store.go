package record

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/group"
	"github.com/fanfold/fanfold/report"
)

// maxIDs is the maximum number of ids in one statement.
const maxIDs = 1000

// Store is the record table. All methods are safe for concurrent use. They wrap the errors of the
// driver, for Kind.Is and Kind.Away.
type Store struct {
	*mapping
	reader
	candidates
	inserter
	starter
	finisher
	metadata

	acts time.Duration // how long Acts are kept
}

type (
	// reader reads records, by id or as a list.
	reader struct{ *mapping }
	// candidates finds the records that a rebuild of an empty Redis starts.
	candidates struct{ reader }
	// inserter inserts PENDING records.
	inserter struct{ *mapping }
	// starter starts attempts, and lets finished records run again.
	starter struct{ reader }
	// finisher gives records their final statuses.
	finisher struct {
		reader
		successes *group.Group[*success]
		history   *histories
	}
	// metadata keeps what an installation stores beside its records.
	metadata struct{ *mapping }
)

// mapping is the table as the options describe it.
type mapping struct {
	kind     *Kind
	db       *DB
	table    string // quoted
	names    Table
	quoted   *strings.Replacer // see sql
	plain    map[string]string // Fanfold's name → the table's; missing: the table has no such column
	columns  map[string]string // the same, quoted
	statuses map[report.Status]string
	unused   report.Status // the table need not store it; empty: none
	filter   string        // " AND (…)" or empty
	maxBytes int64         // maximum bytes of parameters that are read

	found map[string]string // columns that the options do not map and the table can have: its names by Fanfold's

	mu     sync.Mutex
	layout *layout // nil until it is read

	shared atomic.Bool // the table of Sharing could be read once
}

var _ engine.Records = (*Store)(nil)

// New returns the store of a table. It does no I/O. Names that options leave out are those of
// Fanfold's own table: columns are named as in report.RecordColumns, except updated_at and
// row_count for updated and rows. The caller closes db.
func New(db *DB, options report.Records) (*Store, error) {
	s := &mapping{kind: db.Kind, db: db, plain: map[string]string{}, columns: map[string]string{},
		statuses: map[report.Status]string{},
		maxBytes: cmp.Or(options.ParameterBytes, math.MaxInt64)}
	var err error
	if s.names, err = parseTable(cmp.Or(options.Table, report.DefaultTable)); err != nil {
		return nil, err
	}
	s.table = s.kind.Table(s.names)
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
		// The line break ends a comment at the end of the filter.
		s.filter = " AND (" + options.Filter + "\n)"
	}
	quoted := []string{"{table}", s.table, "{filter}", s.filter, "{meta}", s.beside(metaTable),
		"{snapshot}", s.beside(snapshotTable), "{firing}", s.beside(firingTable), "{request}", s.beside(requestTable),
		"{shared}", s.beside(sharedTable), "{history}", s.beside(historyTable), "{audit}", s.beside(auditTable)}
	for column := range report.RecordColumns {
		name := cmp.Or(s.columns[column], "NULL")
		quoted = append(quoted, "{"+column+"}", name, "{"+column+" text}", s.kind.Text(name))
	}
	lane := "NULL"
	if options.LaneColumn != "" {
		if !identifier.MatchString(options.LaneColumn) {
			return nil, fmt.Errorf("invalid column name %q", options.LaneColumn)
		}
		lane = s.kind.Text(s.kind.Quote(options.LaneColumn))
	}
	quoted = append(quoted, "{lane text}", lane)
	s.quoted = strings.NewReplacer(quoted...)
	read := reader{s}
	finish := finisher{reader: read, history: &histories{mapping: s, kept: options.History}}
	finish.successes = group.New(maxSuccesses, finish.succeedTogether)
	return &Store{s, read, candidates{read}, inserter{s}, starter{read}, finish, metadata{s}, options.Audit}, nil
}

// Kind returns the kind of the database, which tells what errors mean.
func (s *mapping) Kind() *Kind { return s.kind }

// sql makes a statement of a template, all of it at once: in braces are the words of the kind, and for
// this table its name, the columns by Fanfold's names (NULL where the table has none), their texts,
// such as {id text}, the filter, and the tables beside it. Every argument is a ?.
func (s *mapping) sql(template string) string { return s.quoted.Replace(s.kind.template(template)) }

func (s *mapping) mapColumns(given map[string]string) error {
	s.found = map[string]string{"created": "created_at"}
	if len(given) == 0 { // a service's column with such a name may mean something else
		s.found["owner"], s.found["tenant"] = "owner", "tenant"
	}
	for column := range given {
		if _, ok := report.RecordColumns[column]; !ok {
			return fmt.Errorf("records have no column %q", column)
		}
	}
	defaults := map[string]string{"updated": "updated_at", "rows": "row_count"}
	for column, required := range report.RecordColumns {
		if given[column] != "" {
			delete(s.found, column)
		} else if slices.Contains(optional, column) {
			continue // measure finds out whether the table has it
		}
		name := cmp.Or(given[column], defaults[column], column)
		if name == "-" && required {
			return fmt.Errorf("column %q is required and cannot be mapped to \"-\"", column)
		}
		if name == "-" {
			continue
		}
		if !identifier.MatchString(name) {
			return fmt.Errorf("invalid column name %q", name)
		}
		s.plain[column], s.columns[column] = name, s.kind.Quote(name)
	}
	return nil
}

func (s *mapping) mapStatuses(given map[string]string) error {
	all := []report.Status{report.Pending, report.Processing, report.Success, report.Partial, report.Failed,
		report.Cancelled}
	for _, status := range all {
		s.statuses[status] = string(status)
	}
	for status, value := range given {
		if _, ok := s.statuses[report.Status(status)]; !ok {
			return fmt.Errorf("records have no status %q", status)
		}
		s.statuses[report.Status(status)] = value
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if strings.EqualFold(s.statuses[a], s.statuses[b]) {
				return fmt.Errorf("value %q is mapped to both %s and %s", s.statuses[a], a, b)
			}
		}
	}
	return nil
}

// status returns the Fanfold status of a value. A value that is not mapped is returned unchanged,
// and is final.
func (s *mapping) status(value string) report.Status {
	for status, mapped := range s.statuses {
		if s.kind.equal(mapped, value) {
			return status
		}
	}
	if _, taken := s.statuses[report.Status(value)]; taken {
		return report.Status("unmapped " + value)
	}
	return report.Status(value)
}

// equal tells whether texts can be equal in the database.
func (s *SQL) equal(a, b string) bool { return a == b || !s.Exact && strings.EqualFold(a, b) }
