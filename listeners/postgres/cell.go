package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/fanfold/fanfold/dataset"
)

// cell adds the values of one column to a builder.
type cell struct {
	valueType
	column int
	json   []byte // room for an array
}

var errWire = errors.New("the server sent a value of another length than its type has")

// put adds one value as the server sent it, which is not used after that.
func (c *cell) put(b *dataset.Builder, v []byte) (err error) {
	if v == nil {
		b.Null(c.column)
		return nil
	}
	if want := widths[c.form]; want > 0 && len(v) != want {
		return errWire
	}
	switch c.form {
	case formInt2, formInt4, formInt8:
		b.Int(c.column, integer(v))
	case formOID:
		b.Uint(c.column, uint64(binary.BigEndian.Uint32(v)))
	case formFloat4:
		return c.float(b, float64(math.Float32frombits(binary.BigEndian.Uint32(v))), 32)
	case formFloat8:
		return c.float(b, math.Float64frombits(binary.BigEndian.Uint64(v)), 64)
	case formBool:
		b.Int(c.column, int64(v[0]))
	case formBytes:
		b.Binary(c.column, v)
	case formNumeric:
		if v[0] == 'N' || v[len(v)-1] == 'y' { // NaN, Infinity, -Infinity
			return noNumber(string(v))
		}
		b.Text(c.column, v)
	case formDate:
		if len(v) != len("2006-01-02") || v[0] > '9' {
			return noDate(v)
		}
		b.Text(c.column, v)
	case formStamp, formInstant:
		if c.form == formInstant {
			v = bytes.TrimSuffix(v, utc)
		}
		if len(v) < len("2006-01-02 15:04:05") || v[4] != '-' || v[len(v)-1] > '9' {
			return noDate(v)
		}
		b.Text(c.column, v)
	case formPadded:
		b.Text(c.column, bytes.TrimRight(v, " "))
	case formArray:
		if c.json, err = appendArray(c.json[:0], v, c.element); err != nil {
			return err
		}
		b.Text(c.column, c.json)
	default:
		b.Text(c.column, v)
	}
	return nil
}

// integer reads one of 16, 32 or 64 bits.
func integer(v []byte) int64 {
	switch len(v) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(v)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v)))
	}
	return int64(binary.BigEndian.Uint64(v))
}

// utc is what the server writes behind an instant.
var utc = []byte("+00")

// widths are the lengths of binary forms; 0: it varies.
var widths = [formArray + 1]int{
	formInt2: 2, formInt4: 4, formInt8: 8, formOID: 4, formFloat4: 4, formFloat8: 8, formBool: 1,
}

func (c *cell) float(b *dataset.Builder, v float64, bits int) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return noNumber(fmt.Sprint(v))
	}
	b.Float(c.column, v, bits)
	return nil
}

func noNumber(v string) error {
	return fmt.Errorf("%s is not a number that a file can have: write NULLIF(column, 'NaN'), or column::text", v)
}

func noDate(v []byte) error {
	return fmt.Errorf("%.40s is not within the years 1 to 9999: write NULLIF(column, 'infinity'), or column::text", v)
}
