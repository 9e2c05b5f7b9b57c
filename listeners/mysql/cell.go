package mysql

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// kindOf returns the kind of a column from the driver's name of its type.
func kindOf(name string) report.Kind {
	switch name = strings.TrimPrefix(name, "UNSIGNED "); name {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR", "BIT":
		return report.KindInteger
	case "DECIMAL":
		return report.KindDecimal
	case "FLOAT", "DOUBLE":
		return report.KindFloat
	case "DATE":
		return report.KindDate
	case "DATETIME", "TIMESTAMP":
		return report.KindDatetime
	case "TIME":
		return report.KindTime
	case "JSON":
		return report.KindJSON
	case "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "GEOMETRY", "VECTOR":
		return report.KindBinary
	}
	return report.KindText
}

// cell adds the values of one column to a builder, without a copy.
type cell struct {
	column   int
	kind     report.Kind
	bits     bool // a BIT, whose value comes as bytes
	fixed    bool // a FLOAT(M,D), or calculated from some
	decimals int  // of it
}

// decimalsOf returns the number of decimals of a column of floats or times, if it is fixed.
func decimalsOf(rows driver.Rows, column int) (decimals int, fixed bool) {
	types, ok := rows.(driver.RowsColumnTypePrecisionScale)
	if !ok {
		return 0, false
	}
	_, scale, ok := types.ColumnTypePrecisionScale(column)
	return int(scale), ok && scale < notFixed
}

// digitsOf returns the maximum number of digits of a decimal column, and the number of decimals of that, of a float
// with a fixed number of them, and of the seconds of a time.
func digitsOf(rows driver.Rows, column int, kind report.Kind) (digits, scale int) {
	types, ok := rows.(driver.RowsColumnTypePrecisionScale)
	if !ok {
		return 0, 0
	}
	precision, decimals, ok := types.ColumnTypePrecisionScale(column)
	switch {
	case !ok || decimals >= notFixed && kind != report.KindDecimal:
		return 0, 0
	case kind == report.KindDecimal:
		return int(precision), int(decimals)
	case kind == report.KindFloat, kind == report.KindDatetime, kind == report.KindTime:
		return 0, int(decimals)
	}
	return 0, 0
}

// notFixed is the protocol's number of decimals for a float without a fixed number.
const notFixed = 31

// zerosOf returns the width to which the server pads a number with zeros: of ZEROFILL and YEAR. The
// driver has no method for it, so it is read from its fields by reflection. TestZerofill fails if
// another version of the driver renames them.
func zerosOf(rows driver.Rows, column int) int {
	const zerofill = 1 << 6 // in the protocol
	fields := member(member(reflect.Indirect(reflect.ValueOf(rows)), "rs"), "columns")
	if fields.Kind() != reflect.Slice || column >= fields.Len() {
		return 0
	}
	flags, length := member(fields.Index(column), "flags"), member(fields.Index(column), "length")
	if !flags.CanUint() || !length.CanUint() || flags.Uint()&zerofill == 0 {
		return 0
	}
	return int(length.Uint())
}

// member returns a field of a struct, or the zero Value.
func member(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}

// put adds one value of the driver.
func (c *cell) put(b *dataset.Builder, value driver.Value) error {
	switch v := value.(type) {
	case nil:
		b.Null(c.column)
	case int64:
		b.Int(c.column, v)
	case []byte:
		return c.bytes(b, v)
	case uint64:
		b.Uint(c.column, v)
	case float32:
		c.float(b, float64(v), 32)
	case float64:
		c.float(b, v, 64)
	case string:
		return c.bytes(b, []byte(v))
	default:
		return fmt.Errorf("unexpected value of Go type %T from the driver", value)
	}
	return nil
}

func (c *cell) float(b *dataset.Builder, v float64, bits int) {
	if c.fixed {
		b.Fixed(c.column, v, c.decimals)
	} else {
		b.Float(c.column, v, bits)
	}
}

func (c *cell) bytes(b *dataset.Builder, v []byte) error {
	switch {
	case c.bits:
		var n uint64
		for _, octet := range v {
			n = n<<8 | uint64(octet)
		}
		b.Uint(c.column, n)
	case c.kind == report.KindInteger: // beyond the int64s the driver gives digits
		n, err := strconv.ParseUint(string(v), 10, 64)
		if err != nil {
			return err
		}
		b.Uint(c.column, n)
	case c.kind == report.KindBinary:
		b.Binary(c.column, v)
	default:
		b.Text(c.column, v)
	}
	return nil
}
