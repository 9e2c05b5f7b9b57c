package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/fanfold/fanfold/report"
)

var (
	errRows      = errors.New("expected a JSON array of rows")
	errRow       = errors.New("expected a row: an array of values, or an object with the column names")
	errDuplicate = errors.New("the row has this column name twice")
)

// Rows converts the rows of an external service into one JSON array per column. The text is a JSON
// array of arrays, with the values in the order of the columns, or of objects, whose names are
// exactly the columns. Values are scalars and are kept as written, so a number keeps its digits.
// In a column of type integer, decimal or float they must be numbers, or strings that contain one.
// An error names the row (from 1) and the byte (from 0), or the column.
func Rows(columns []string, types []report.Kind, text []byte) (fields [][]byte, rows int, err error) {
	r := &rowReader{text: text, columns: columns, values: make([][]byte, len(columns))}
	fields = make([][]byte, len(columns))
	for i := range fields {
		fields[i] = append(make([]byte, 0, len(text)/len(columns)+2), '[')
	}
	if at := invalidUTF8(text); at < len(text) {
		return nil, 0, fmt.Errorf("byte %d: %w", at, errUTF8)
	}
	if err := r.expect('[', errRows); err != nil {
		return nil, 0, fmt.Errorf("byte %d: %w", r.at, err)
	}
	for more := !r.accept(']'); more; rows++ {
		if err := r.row(); err != nil {
			return nil, 0, fmt.Errorf("row %d, byte %d: %w", rows+1, r.at, err)
		}
		for i, v := range r.values {
			if !fits(types[i], v) {
				return nil, 0, misfit(rows, columns[i], types[i], v)
			}
			if rows > 0 {
				fields[i] = append(fields[i], ',')
			}
			fields[i] = append(fields[i], v...)
		}
		if more, err = r.more(']'); err != nil {
			return nil, 0, fmt.Errorf("after row %d, byte %d: %w", rows+1, r.at, err)
		}
	}
	if r.at = skipBlanks(text, r.at); r.at < len(text) {
		return nil, 0, fmt.Errorf("byte %d: %w", r.at, errTrailing)
	}
	for i := range fields {
		fields[i] = append(fields[i], ']')
	}
	return fields, rows, nil
}

// numbers are the valid forms of numbers, by type.
var numbers = map[report.Kind]*regexp.Regexp{
	report.KindInteger: regexp.MustCompile(`^"?[+-]?[0-9]+"?$`),
	report.KindDecimal: regexp.MustCompile(`^"?[+-]?[0-9]+(\.[0-9]+)?"?$`),
	report.KindFloat:   regexp.MustCompile(`^"?[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?"?$`),
}

// forms are examples of these forms.
var forms = map[report.Kind]string{
	report.KindInteger: `42 or "42"`,
	report.KindDecimal: `12.50 or "12.50"`,
	report.KindFloat:   `1.5 or 1e20`,
}

// fits tells whether a JSON scalar is valid in a column of this type.
func fits(kind report.Kind, value []byte) bool {
	form := numbers[kind]
	return form == nil || IsNull(value) || skipDigits(value, 0) == len(value) || form.Match(value)
}

// misfit is the error of a value that does not fit; rows is the number of rows before it.
func misfit(rows int, column string, kind report.Kind, value []byte) error {
	return fmt.Errorf("row %d: column %q: the value %s is not of type %s: write a value such as %s",
		rows+1, column, report.Shorten(string(value)), kind, forms[kind])
}

// CheckTypes returns an error if a value is not valid in a column of its type. The rules and the error are those of
// Rows.
func (c *Chunk) CheckTypes() error {
	for i, column := range c.columns {
		if numbers[column.Kind] == nil {
			continue
		}
		for row := range c.rows {
			if v := c.Cell(i, row); !fits(column.Kind, v) {
				return misfit(row, column.Name, column.Kind, v)
			}
		}
	}
	return nil
}

// rowReader parses rows.
type rowReader struct {
	text    []byte
	at      int
	columns []string
	values  [][]byte // of the current row
}

// expect reads a character; if the next one is another, it returns the error otherwise.
func (r *rowReader) expect(c byte, otherwise error) error {
	if !r.accept(c) {
		return otherwise
	}
	return nil
}

// accept reads a character if it is the next one, after white space.
func (r *rowReader) accept(c byte) bool {
	r.at = skipBlanks(r.text, r.at)
	if r.at == len(r.text) || r.text[r.at] != c {
		return false
	}
	r.at++
	return true
}

// more reads a comma, or end; then it returns false.
func (r *rowReader) more(end byte) (bool, error) {
	if r.accept(end) {
		return false, nil
	}
	return true, r.expect(',', errComma)
}

// scalar reads a value.
func (r *rowReader) scalar() ([]byte, error) {
	r.at = skipBlanks(r.text, r.at)
	end, err := scanScalar(r.text, r.at)
	if err != nil {
		r.at = end
		return nil, err
	}
	value := r.text[r.at:end]
	r.at = end
	return value, nil
}

// row reads a row into r.values.
func (r *rowReader) row() error {
	switch {
	case r.accept('['):
		return r.array()
	case r.accept('{'):
		return r.object()
	}
	return errRow
}

func (r *rowReader) array() (err error) {
	n := 0
	for more := !r.accept(']'); more; n++ {
		value, err := r.scalar()
		if err != nil {
			return err
		}
		if n < len(r.values) {
			r.values[n] = value
		}
		if more, err = r.more(']'); err != nil {
			return err
		}
	}
	if n != len(r.columns) {
		return fmt.Errorf("%d values for %d columns", n, len(r.columns))
	}
	return nil
}

func (r *rowReader) object() error {
	clear(r.values)
	next := 0 // names are usually in the order of the columns
	for more := !r.accept('}'); more; {
		text, err := r.scalar()
		if err != nil {
			return err
		}
		column, err := r.column(text, next)
		if err != nil {
			return err
		}
		if err := r.expect(':', errors.New("expected a colon")); err != nil {
			return err
		}
		if r.values[column] != nil {
			return errDuplicate
		}
		if r.values[column], err = r.scalar(); err != nil {
			return err
		}
		next = column + 1
		if more, err = r.more('}'); err != nil {
			return err
		}
	}
	for i, v := range r.values {
		if v == nil {
			return fmt.Errorf("column %q is missing: write null if it has no value", r.columns[i])
		}
	}
	return nil
}

// column returns the number of the column whose name is text, a JSON string; next is a guess.
func (r *rowReader) column(text []byte, next int) (int, error) {
	if text[0] != '"' {
		return 0, errors.New("expected a column name in quotes")
	}
	if next < len(r.columns) && bytes.Equal(text[1:len(text)-1], []byte(r.columns[next])) {
		return next, nil
	}
	var name string
	if err := json.Unmarshal(text, &name); err != nil {
		return 0, err
	}
	if i := slices.Index(r.columns, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("unknown column %q; the columns are %s", report.Shorten(name), report.Listing(r.columns))
}
