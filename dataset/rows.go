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
	errRows = errors.New("a JSON array of rows must begin here")
	errRow  = errors.New("a row must begin here: an array of values, or an object with the columns' names")
	errTwo  = errors.New("a column's name stands here for the second time")
)

// Rows turns rows as foreign services give them into one JSON array for each column:
// a JSON array of arrays, with a value for each column in its order, or of objects,
// which have exactly the columns' names. Values are scalars and stay as they are
// written, so a number keeps its digits. Those of a column whose type is integer, decimal
// or float must be numbers, or strings that hold one. An error names the row (from 1) and
// the byte (from 0), or the column.
func Rows(columns []string, types []report.Kind, text []byte) (fields [][]byte, rows int, err error) {
	r := &rowReader{text: text, columns: columns, values: make([][]byte, len(columns))}
	fields = make([][]byte, len(columns))
	for i := range fields {
		fields[i] = append(make([]byte, 0, len(text)/len(columns)+2), '[')
	}
	if at := invalidUTF8(text); at < len(text) {
		return nil, 0, fmt.Errorf("byte %d: %w", at, errUTF8)
	}
	if err := r.must('[', errRows); err != nil {
		return nil, 0, fmt.Errorf("byte %d: %w", r.at, err)
	}
	for more := !r.passes(']'); more; rows++ {
		if err := r.row(); err != nil {
			return nil, 0, fmt.Errorf("row %d, byte %d: %w", rows+1, r.at, err)
		}
		for i, v := range r.values {
			if !fits(types[i], v) {
				return nil, 0, fmt.Errorf("row %d: column %q has the value %s, which is not of its type %s: write %s",
					rows+1, columns[i], report.Shorten(string(v)), types[i], forms[types[i]])
			}
			if rows > 0 {
				fields[i] = append(fields[i], ',')
			}
			fields[i] = append(fields[i], v...)
		}
		if more, err = r.more(']'); err != nil {
			return nil, 0, fmt.Errorf("behind row %d, byte %d: %w", rows+1, r.at, err)
		}
	}
	if r.at = skipBlanks(text, r.at); r.at < len(text) {
		return nil, 0, fmt.Errorf("byte %d: %w", r.at, errBehind)
	}
	for i := range fields {
		fields[i] = append(fields[i], ']')
	}
	return fields, rows, nil
}

// numbers are the forms of the numbers of a type.
var numbers = map[report.Kind]*regexp.Regexp{
	report.KindInteger: regexp.MustCompile(`^"?[+-]?[0-9]+"?$`),
	report.KindDecimal: regexp.MustCompile(`^"?[+-]?[0-9]+(\.[0-9]+)?"?$`),
	report.KindFloat:   regexp.MustCompile(`^"?[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?"?$`),
}

// forms are examples of them.
var forms = map[report.Kind]string{report.KindInteger: `42 or "42"`, report.KindDecimal: `12.50 or "12.50"`, report.KindFloat: `1.5 or 1e20`}

// fits tells whether a value, the JSON of a scalar, can be one of a column of that type.
func fits(kind report.Kind, value []byte) bool {
	form := numbers[kind]
	return form == nil || IsNull(value) || form.Match(value)
}

// rowReader reads rows.
type rowReader struct {
	text    []byte
	at      int
	columns []string
	values  [][]byte // of the current row
}

// must passes a character, which must stand here.
func (r *rowReader) must(c byte, otherwise error) error {
	if !r.passes(c) {
		return otherwise
	}
	return nil
}

// passes passes a character, if it stands here.
func (r *rowReader) passes(c byte) bool {
	r.at = skipBlanks(r.text, r.at)
	if r.at == len(r.text) || r.text[r.at] != c {
		return false
	}
	r.at++
	return true
}

// more passes a comma, or the end.
func (r *rowReader) more(end byte) (bool, error) {
	if r.passes(end) {
		return false, nil
	}
	return true, r.must(',', errComma)
}

// scalar passes a value.
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

// row reads a row into values.
func (r *rowReader) row() error {
	switch {
	case r.passes('['):
		return r.array()
	case r.passes('{'):
		return r.object()
	}
	return errRow
}

func (r *rowReader) array() (err error) {
	n := 0
	for more := !r.passes(']'); more; n++ {
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
	next := 0 // names mostly come in the columns' order
	for more := !r.passes('}'); more; {
		text, err := r.scalar()
		if err != nil {
			return err
		}
		column, err := r.column(text, next)
		if err != nil {
			return err
		}
		if err := r.must(':', errors.New("a colon must stand here")); err != nil {
			return err
		}
		if r.values[column] != nil {
			return errTwo
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
			return fmt.Errorf("column %q is not there: give null where it has no value", r.columns[i])
		}
	}
	return nil
}

// column finds the column of a name in an object.
func (r *rowReader) column(text []byte, next int) (int, error) {
	if text[0] != '"' {
		return 0, errors.New("a column's name in quotes must stand here")
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
	return 0, fmt.Errorf("there is no column %q; the columns are %s", report.Shorten(name), report.Listing(r.columns))
}
