package mysql

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

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
	column int
	kind   report.Kind
	bits   bool // a BIT, whose value comes as bytes
}

// put takes one value as the driver gives it.
func (c *cell) put(b *report.Builder, value driver.Value) error {
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
		b.Float(c.column, float64(v), 32)
	case float64:
		b.Float(c.column, v, 64)
	case string:
		return c.bytes(b, []byte(v))
	default:
		return fmt.Errorf("a value of Go type %T, which no setting of mysqldb gives", value)
	}
	return nil
}

func (c *cell) bytes(b *report.Builder, v []byte) error {
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
