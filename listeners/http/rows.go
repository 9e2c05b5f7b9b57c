package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// A column without a type is a decimal if its first value is a number. Until all types are known, at
// most this many rows and bytes of texts are buffered.
const (
	unsureRows  = 1000
	unsureBytes = 8 << 20
)

// rows writes the rows of a task.
type rows struct {
	listener *report.Listener
	fields   *Fields // of the listener
	out      *listeners.Writer
	kinds    []report.Kind // empty: not known yet
	guessed  []bool
	held     [][]any // rows until all kinds are known
	bytes    int     // of the texts in them
	begun    bool
	count    int
}

func newRows(l *report.Listener, fields *Fields, out *listeners.Writer) *rows {
	n := len(fields.Columns)
	r := &rows{listener: l, fields: fields, out: out, kinds: make([]report.Kind, n), guessed: make([]bool, n)}
	for i, f := range fields.Columns {
		r.kinds[i], r.guessed[i] = f.Kind, f.Kind == ""
	}
	return r
}

// add adds a row.
func (r *rows) add(row any) error {
	r.count++
	cells := make([]any, len(r.kinds))
	unsure := false
	for i, f := range r.fields.Columns {
		value, ok := f.Path.Find(row)
		if !ok && !f.Optional {
			return listeners.Permanent(fmt.Errorf("row %d has no %s, for column %s: correct the path, or make the column optional (%s: {path: \"%s\", optional: true})",
				r.count, f.Path, r.listener.Columns[i], r.listener.Columns[i], f.Path))
		}
		cells[i] = value
		if r.kinds[i] == "" && value != nil {
			r.kinds[i] = report.KindText
			if _, number := value.(json.Number); number {
				r.kinds[i] = report.KindDecimal
			}
		}
		unsure = unsure || r.kinds[i] == ""
		text, _ := value.(string)
		r.bytes += len(text)
	}
	if r.begun {
		return r.write(cells, r.count)
	}
	r.held = append(r.held, cells)
	if unsure && len(r.held) < unsureRows && r.bytes < unsureBytes {
		return nil
	}
	return r.begin()
}

// begin writes the columns and the buffered rows.
func (r *rows) begin() error {
	r.begun = true
	columns := make([]dataset.Column, len(r.kinds))
	for i := range r.kinds {
		if r.kinds[i] == "" {
			r.kinds[i] = report.KindText
		}
		columns[i] = dataset.Column{Name: r.listener.Columns[i], Kind: r.kinds[i]}
	}
	if err := r.out.Columns(columns); err != nil {
		return err
	}
	for i, cells := range r.held {
		if err := r.write(cells, i+1); err != nil {
			return err
		}
	}
	r.held = nil
	return nil
}

// end writes the rest.
func (r *rows) end() error {
	if r.begun {
		return nil
	}
	return r.begin()
}

func (r *rows) write(cells []any, number int) error {
	b := r.out.Builder()
	for i, value := range cells {
		if err := put(b, i, r.kinds[i], value); err != nil {
			remedy := "give the column a type that all of its values have, such as " + wider(r.kinds[i], value)
			if r.guessed[i] {
				remedy = "its first value was a number; " + remedy
			}
			return listeners.Permanent(fmt.Errorf("row %d, column %s: %w: %s", number, r.listener.Columns[i],
				err, remedy))
		}
	}
	return r.out.EndRow()
}

// wider returns a type that a value of a column has, too.
func wider(kind report.Kind, value any) report.Kind {
	if _, number := value.(json.Number); number && kind == report.KindInteger {
		return report.KindDecimal
	}
	return report.KindText
}

var (
	decimal  = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	datetime = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[ Tt](\d{2}:\d{2}:\d{2})(?:(\.\d{1,6})\d*)?([Zz]|[+-]\d{2}:\d{2})?$`)
)

// put writes a value as a cell of its column.
func put(b *dataset.Builder, column int, kind report.Kind, value any) error {
	if value == nil {
		b.Null(column)
		return nil
	}
	if kind == report.KindJSON {
		text, err := encode(value)
		b.Text(column, text)
		return err
	}
	text, ok := scalar(value)
	_, number := value.(json.Number)
	wrong := fmt.Errorf("%s is not a valid %s", shown(value), kind)
	switch {
	case !ok:
		return fmt.Errorf("%s is not a single value", shown(value))
	case kind == report.KindText:
		b.Text(column, []byte(text))
	case kind == report.KindInteger:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && text[0] != '+' {
			b.Int(column, n)
		} else if n, err := strconv.ParseUint(text, 10, 64); err == nil && text[0] != '+' {
			b.Uint(column, n)
		} else {
			return wrong
		}
	case kind == report.KindDecimal:
		if !number && !decimal.MatchString(text) {
			return wrong
		}
		b.Text(column, []byte(text))
	case kind == report.KindFloat:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !number && !decimal.MatchString(text) {
			return wrong
		}
		b.Float(column, n, 64)
	case kind == report.KindDate:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return wrong
		}
		b.Text(column, []byte(text))
	case kind == report.KindDatetime:
		text, ok := utc(text)
		if !ok {
			return wrong
		}
		b.Text(column, []byte(text))
	default:
		return wrong
	}
	return nil
}

// utc formats a time as Fanfold does. A time with an offset becomes UTC, one without is unchanged.
func utc(text string) (string, bool) {
	m := datetime.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	offset := strings.ToUpper(m[4])
	if offset == "" {
		offset = "Z"
	}
	at, err := time.Parse(time.DateOnly+" "+time.TimeOnly+"Z07:00", m[1]+" "+m[2]+offset)
	if at = at.UTC(); err != nil || at.Year() < 0 || at.Year() > 9999 {
		return "", false
	}
	return at.Format(time.DateTime) + m[3], true
}

// scalar returns the text of a single value.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// shown returns a value for a message.
func shown(value any) string {
	text, err := encode(value)
	if err != nil || len(text) > 60 {
		return fmt.Sprintf("%.60s…", strings.ToValidUTF8(string(text[:min(60, len(text))]), ""))
	}
	return string(text)
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
