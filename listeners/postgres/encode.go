package postgres

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// earlier are the values of an earlier stage, as an argument.
type earlier struct{}

// maxList is the maximum length of all values of an earlier stage as one argument.
const maxList = 64 << 20

// arguments returns the values of the arguments in the server's text form, for the types that it has inferred. list
// tells whether an earlier stage has any value; true without one.
func (r *reader) arguments(ctx context.Context, types []uint32, args []any) (values [][]byte, list bool, err error) {
	list = true
	for i, v := range args {
		var text []byte
		switch array, isArray := v.(dialect.Array); {
		case isArray && types[i] < firstOwn && kinds[types[i]].element == 0:
			err = listeners.Permanent(fmt.Errorf("a list stands where the query needs one value: write IN (:name), or " +
				"ANY (:name)"))
		case !isArray:
			text = r.scalar(v, types[i])
		case array.Of == earlier{}:
			text, list, err = r.earlier(ctx, kinds[types[i]].element)
		default:
			text = r.array(array.Of.([]any), kinds[types[i]].element)
		}
		if err != nil {
			return nil, false, err
		}
		values = append(values, text)
	}
	return values, list, nil
}

// scalar returns the text of a parameter; nil: NULL.
func (r *reader) scalar(v any, of uint32) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	case bool:
		switch of {
		case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID:
			if v {
				return []byte("1")
			}
			return []byte("0")
		}
		return strconv.AppendBool(nil, v)
	case time.Time:
		return []byte(instant(v, of, r.zone))
	}
	return fmt.Append(nil, v) // int64, uint64
}

// instant returns an instant as a type has it: with its offset, or as the clock of a zone shows it.
func instant(v time.Time, of uint32, zone *time.Location) string {
	const form = "2006-01-02 15:04:05.999999"
	if of == pgtype.TimestamptzOID {
		return v.UTC().Format(form) + "+00"
	}
	return v.In(zone).Format(form)
}

// array returns the text of a list. An empty one has a NULL, as IN (NULL), which finds nothing.
func (r *reader) array(list []any, element uint32) []byte {
	out := []byte{'{'}
	for _, v := range list {
		if text := r.scalar(v, element); text != nil {
			out = appendQuoted(out, text)
		} else {
			out = append(out, "NULL,"...)
		}
	}
	return closed(out, len(list) == 0)
}

// closed ends an array.
func closed(out []byte, empty bool) []byte {
	if empty {
		return append(out, "NULL}"...)
	}
	if out[len(out)-1] == ',' {
		out = out[:len(out)-1]
	}
	return append(out, '}')
}

// appendQuoted appends an element and a comma.
func appendQuoted(out, text []byte) []byte {
	out = append(out, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return append(out, '"', ',')
}

// earlier returns the values of an earlier stage as an array, so that the query runs once and the server compares
// them by the type of its own column. A value that no value of this type equals is left out, such as 1.5 for integers.
func (r *reader) earlier(ctx context.Context, element uint32) (text []byte, any bool, err error) {
	from := r.task.Listener.From
	column, values := r.task.Distinct(ctx)
	zone, err := time.LoadLocation(column.Zone) // reads a file: once, not for every value
	if err != nil {
		return nil, false, listeners.Permanent(fmt.Errorf("time zone of %s: %w", from, err))
	}
	out := []byte{'{'}
	for raw, err := range values {
		if err != nil {
			return nil, false, err
		}
		any = true
		value, equals, err := r.value(column, zone, raw, element)
		if err != nil {
			return nil, false, listeners.Permanent(fmt.Errorf("value of %s: %w", from, err))
		}
		if equals {
			out = appendQuoted(out, value)
		}
		if len(out) > maxList {
			return nil, false, listeners.Permanent(fmt.Errorf("the values of %s need more than the maximum of %d MiB: "+
				"reduce the result of %s", from, maxList>>20, from.Listener))
		}
	}
	return closed(out, !any), any, nil
}

// value returns a JSON scalar of a column, whose datetimes are of zone, as an element; false: no element equals it.
func (r *reader) value(
	column dataset.Column, zone *time.Location, raw []byte, element uint32,
) (text []byte, equals bool, err error) {
	text = raw
	if raw[0] == '"' {
		var unquoted string
		if err := json.Unmarshal(raw, &unquoted); err != nil {
			return nil, false, err
		}
		text = []byte(unquoted)
	} else if !json.Valid(raw) {
		return nil, false, fmt.Errorf("not JSON: %.40q", raw)
	}
	bits := widths[kinds[element].form] * 8
	switch form := kinds[element].form; {
	case column.Kind == report.KindBinary:
		octets, err := base64.StdEncoding.DecodeString(string(text))
		if element == pgtype.ByteaOID {
			return []byte(`\x` + hex.EncodeToString(octets)), true, err
		}
		return octets, !hasZero(octets), err
	case form >= formInt2 && form <= formInt8 && raw[0] != 't' && raw[0] != 'f' && isNumber(column.Kind):
		whole, fraction, _ := strings.Cut(string(text), ".")
		_, err := strconv.ParseInt(whole, 10, bits)
		return []byte(whole), err == nil && strings.Trim(fraction, "0") == "", nil
	case column.Kind == report.KindFloat && column.Bits == 32 && form != formFloat4 && element != pgtype.TextOID:
		// A float of 32 bits is compared as the double that it is: 0.1 as 0.10000000149011612.
		f, err := strconv.ParseFloat(string(text), 32)
		return strconv.AppendFloat(nil, f, 'g', -1, 64), true, err
	case column.Kind == report.KindDate || column.Kind == report.KindDatetime:
		return r.moment(column.Kind, zone, string(text), element)
	}
	return text, !hasZero(text), nil
}

func isNumber(k report.Kind) bool {
	return k == report.KindInteger || k == report.KindDecimal || k == report.KindFloat
}

// hasZero tells whether a text has the character with the code 0, which no text of PostgreSQL has.
func hasZero(text []byte) bool { return strings.IndexByte(string(text), 0) >= 0 }

// moment returns a date or datetime of a zone as an element of another zone. The zero dates of MySQL equal nothing.
func (r *reader) moment(of report.Kind, zone *time.Location, text string, element uint32) ([]byte, bool, error) {
	temporal := element == pgtype.TimestampOID || element == pgtype.TimestamptzOID || element == pgtype.DateOID
	if temporal && strings.Contains(text[:min(len(text), len("2006-01-02"))], "-00") {
		return nil, false, nil
	}
	if of != report.KindDatetime || element == pgtype.DateOID || !temporal {
		return []byte(text), true, nil
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05", text, zone)
	if err != nil {
		return nil, false, err
	}
	return []byte(instant(at, element, r.zone)), true, nil
}
