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

// kindOf is the kind of a column for the driver's name of its type.
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

// cell puts the values of one column into a builder, without a copy in between.
type cell struct {
	column   int
	kind     report.Kind
	bits     bool // a BIT, whose value comes as bytes
	fixed    bool // a FLOAT(M,D), or what is calculated from some
	decimals int  // of it
}

// decimalsOf tells how many decimals the server shows a float with, if it is always
// so many.
func decimalsOf(rows driver.Rows, column int) (decimals int, fixed bool) {
	types, ok := rows.(driver.RowsColumnTypePrecisionScale)
	if !ok {
		return 0, false
	}
	_, scale, ok := types.ColumnTypePrecisionScale(column)
	return int(scale), ok && scale < notFixed
}

// notFixed is what the protocol has for a float with any number of decimals.
const notFixed = 31

// zerosOf tells how many characters the server shows a number with at least, by zeros
// before it: ZEROFILL, and YEAR. The driver reads that and has no method that gives
// it, so it is taken from its fields; TestZerofill fails where another version of the
// driver names them otherwise.
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

// member is a field of a struct, or nothing.
func member(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}

// put takes one value as the driver gives it.
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
		return fmt.Errorf("a value of Go type %T, which no setting of mysqldb gives", value)
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
