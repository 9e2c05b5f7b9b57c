package record

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// maxReason is the maximum number of bytes of an error text, even if the column could store more.
const maxReason = 4000

// optional are the columns that a table without a mapping may lack.
var optional = []string{"created", "owner", "tenant"}

// layout is what the database says about the table.
type layout struct {
	id         Type
	attempt    Type
	parameters Type
	statuses   map[report.Status]any // bound as the column's type, so that indexes are used
	reason     size                  // maximum size of the error column
	file       int                   // characters of the file column; 0: unknown
	idWidth    int                   // characters of an id; 0: unknown
	nullable   map[string]bool       // Fanfold's names of columns that accept NULL
	optional   map[string]string     // quoted columns of optional that the table has

	createdMoves bool // an UPDATE may change created
	createdType  Type
	generated    bool // the database gives new rows an id
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
	const integerDigits, uuidDigits, longestID = 20, 36, 64
	switch {
	case l.id.Of == Integer:
		return l.file, integerDigits, nil
	case l.id.Of == UUID:
		return l.file, uuidDigits, nil
	case l.idWidth > 0:
		return l.file, min(l.idWidth, longestID), nil
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

// typed is a type with its name, for people.
type typed struct {
	Type
	name string
}

// results returns the types of the mapped columns, as a SELECT has them. It fails if the column of the lane cannot
// be read.
func (s *mapping) results(ctx context.Context) (map[string]typed, error) {
	var names, list []string
	for name, column := range s.columns {
		names, list = append(names, name), append(list, column)
	}
	rows, err := s.db.QueryContext(ctx, s.sql("SELECT "+strings.Join(list, ", ")+
		", {lane text} FROM {table} WHERE 1 = 1{filter} LIMIT 0"))
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", s.table, err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", s.table, err)
	}
	found := map[string]typed{}
	for i, name := range names {
		kind := types[i].DatabaseTypeName()
		found[name] = typed{s.kind.Type(kind), kind}
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("table %s: %w", s.table, err)
	}
	return found, nil
}

func (s *mapping) learn(ctx context.Context) (*layout, error) {
	types, err := s.results(ctx)
	if err != nil {
		return nil, err
	}
	columns, err := s.kind.Columns(ctx, s.db.DB, s.names)
	if err != nil {
		return nil, fmt.Errorf("columns of %s: %w", s.table, err)
	}
	for name, plain := range s.plain {
		for _, c := range columns {
			if s.kind.equal(c.Name, plain) && c.Of.Of != Other {
				types[name] = typed{c.Of, c.Type}
			}
		}
	}
	for name, usable := range map[string][]Values{
		"id":      {Integer, Text, UUID},
		"status":  {Integer, Text},
		"attempt": {Integer},
		"file":    {Text},
		"updated": {Time},
		"created": {Time},
		"owner":   {Integer, Text, UUID},
		"tenant":  {Integer, Text, UUID},
	} {
		if _, has := s.columns[name]; has && !slices.Contains(usable, types[name].Of) {
			return nil, fmt.Errorf("column %s.%s of type %s cannot be used for %s", s.table, s.columns[name],
				types[name].name, name)
		}
	}
	l := &layout{
		id: types["id"].Type, attempt: types["attempt"].Type, parameters: types["parameters"].Type,
		createdType: types["created"].Type, statuses: map[report.Status]any{}, optional: map[string]string{},
		reason: size{maxReason, maxReason}, nullable: map[string]bool{},
	}
	for _, name := range optional {
		if column, has := s.columns[name]; has {
			l.optional[name] = column
		}
	}
	for status, value := range s.statuses {
		l.statuses[status] = value
		if types["status"].Of != Integer {
			continue
		}
		n, err := strconv.ParseInt(value, 10, types["status"].Bits)
		if err != nil && status == s.unused {
			l.statuses[status] = nil
			continue
		} else if err != nil {
			return nil, fmt.Errorf("value %q for %s, but column %s is an integer: map it under records.statuses",
				value, status, s.columns["status"])
		}
		l.statuses[status] = n
	}
	for _, c := range columns {
		if err := s.measure(l, c); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// measure adds what the database says about a column. If it says nothing, as for some views, defaults stay.
func (s *mapping) measure(l *layout, c Column) error {
	is := func(name string) bool { return s.kind.equal(c.Name, s.plain[name]) }
	for column := range s.plain {
		if is(column) {
			l.nullable[column] = c.Nullable
		}
	}
	for name, usual := range s.found {
		if s.kind.equal(c.Name, usual) && c.Readable && (c.Of.Of == Time) == (name == "created") {
			l.optional[name] = s.kind.Quote(c.Name)
		}
	}
	if s.kind.equal(s.kind.Quote(c.Name), l.optional["created"]) {
		l.createdMoves, l.createdType = c.Moves, c.Of
	}
	switch {
	case is("error") && c.Characters > 0:
		l.reason = size{min(c.Bytes, maxReason), min(c.Characters, maxReason)}
	case is("file"):
		l.file = c.Characters
	case is("id"):
		l.idWidth, l.generated = c.Characters, c.Generated
	case is("status"):
		return s.fits(l, c)
	}
	return nil
}

// fits checks that a text column for the status can store every value.
func (s *mapping) fits(l *layout, c Column) error {
	for status, value := range s.statuses {
		equal := func(one string) bool { return s.kind.equal(one, value) }
		missing := c.Values != nil && !slices.ContainsFunc(c.Values, equal)
		if !missing && (c.Characters == 0 || len(value) <= c.Characters) {
			continue
		}
		if status != s.unused {
			return fmt.Errorf("value %q for %s does not fit column %s, which is %s: map it under records.statuses",
				value, status, s.columns["status"], c.Type)
		}
		l.statuses[status] = nil
	}
	return nil
}
