package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// column is a column of the file.
type column struct {
	label string
	name  string // of its type, for people
	parquet.Type
	convert  func(dst, text []byte) ([]byte, error) // appends the physical value of a text
	bounded  bool                                   // readers get the least and the greatest value of every page
	zones    format.Zones                           // of a datetime
	local    bool                                   // a datetime is shown in the zone of the file
	digits   int                                    // of a decimal, of which scale are decimals
	scale    int
	unsigned bool
}

// newColumn returns the column of a file that shows datetimes in a zone; empty: as instants.
func newColumn(label string, from dataset.Column, zone string) (*column, error) {
	c := &column{label: label, bounded: true, unsigned: from.Unsigned, scale: from.Scale}
	is := func(name string, node parquet.Node, convert func(dst, text []byte) ([]byte, error)) {
		c.name, c.Type, c.convert = name, node.Type(), convert
	}
	switch {
	case from.Kind == report.KindInteger && from.Unsigned:
		is("UINT64", parquet.Uint(64), c.integer)
	case from.Kind == report.KindInteger:
		is("INT64", parquet.Int(64), c.integer)
	case from.Kind == report.KindDecimal && from.Digits > 0:
		c.decimalOf(from.Digits)
	case from.Kind == report.KindFloat && from.Bits == 32:
		is("FLOAT", parquet.Leaf(parquet.FloatType), single)
	case from.Kind == report.KindFloat:
		is("DOUBLE", parquet.Leaf(parquet.DoubleType), double)
	case from.Kind == report.KindDate:
		is("DATE", parquet.Date(), c.date)
	case from.Kind == report.KindDatetime:
		var err error
		if c.zones, err = format.NewZones(from.Zone, zone); err != nil {
			return nil, err
		}
		c.local = zone != ""
		is("TIMESTAMP", parquet.TimestampAdjusted(parquet.Microsecond, !c.local), c.datetime)
	case from.Kind == report.KindTime:
		is("TIME", parquet.TimeAdjusted(parquet.Microsecond, false), timeOfDay)
	case from.Kind == report.KindJSON:
		is("JSON", parquet.JSON(), document)
	case from.Kind == report.KindBinary:
		is("BYTE_ARRAY", parquet.Leaf(parquet.ByteArrayType), decoded)
	default: // a decimal without known digits, too
		is("STRING", parquet.String(), copied)
	}
	if kind := c.Type.Kind(); kind == parquet.ByteArray || kind == parquet.FixedLenByteArray {
		c.bounded = false
	}
	return c, nil
}

// node returns the node of the column in the schema. It has no dictionary: zstd finds what repeats, in less time and
// memory, and the file is smaller.
func (c *column) node() parquet.Node {
	if c.bounded {
		return parquet.Leaf(c.Type)
	}
	return parquet.Leaf(unbounded{c.Type})
}

// append appends a cell that is not NULL, as AppendRow says.
func (c *column) append(dst, cell []byte) ([]byte, error) {
	start := len(dst)
	text := cell
	if cell[0] == '"' {
		text = cell[1 : len(cell)-1]
	}
	if c.Type.Kind() != parquet.ByteArray { // the text has no escapes, or is none of a value
		dst, err := c.convert(append(dst, 0), text)
		if err == nil {
			dst[start] = byte(len(dst) - start)
		}
		return dst, err
	}
	// The bytes of a text are not more than those of the cell.
	room := (bits.Len(uint(len(cell)+1)) + 6) / 7
	for range room {
		dst = append(dst, 0)
	}
	dst, err := c.convert(dst, cell)
	if err != nil {
		return dst, err
	}
	setLength(dst[start:start+room], len(dst)-start-room+1)
	return dst, nil
}

// value returns the value of bytes that append wrote, which it refers to.
func (c *column) value(plain []byte) parquet.Value {
	switch c.Type.Kind() {
	case parquet.Int32:
		return parquet.Int32Value(int32(binary.LittleEndian.Uint32(plain)))
	case parquet.Int64:
		return parquet.Int64Value(int64(binary.LittleEndian.Uint64(plain)))
	case parquet.Float:
		return parquet.FloatValue(math.Float32frombits(binary.LittleEndian.Uint32(plain)))
	case parquet.Double:
		return parquet.DoubleValue(math.Float64frombits(binary.LittleEndian.Uint64(plain)))
	case parquet.FixedLenByteArray:
		return parquet.FixedLenByteArrayValue(plain)
	}
	return parquet.ByteArrayValue(plain)
}

var errAsText = errors.New("CAST the column AS CHAR, in the query or the fold, for a text")

// integer converts an integer, as the fold does: true is 1.
func (c *column) integer(dst, text []byte) ([]byte, error) {
	switch string(text) {
	case "true":
		return binary.LittleEndian.AppendUint64(dst, 1), nil
	case "false":
		return binary.LittleEndian.AppendUint64(dst, 0), nil
	}
	if len(text) > 1 && text[0] == '+' {
		text = text[1:]
	}
	if c.unsigned {
		n, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil {
			return dst, fmt.Errorf("it is no integer from 0 to 18446744073709551615: %w", errAsText)
		}
		return binary.LittleEndian.AppendUint64(dst, n), nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return dst, fmt.Errorf("it is no integer from -9223372036854775808 to 9223372036854775807: %w", errAsText)
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(n)), nil
}

func parseFloat(text []byte, bits int) (float64, error) {
	n, err := strconv.ParseFloat(string(text), bits)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return n, fmt.Errorf("it is no number that %d bits can hold: %w", bits, errAsText)
	}
	return n, nil
}

func single(dst, text []byte) ([]byte, error) {
	n, err := parseFloat(text, 32)
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(n))), err
}

func double(dst, text []byte) ([]byte, error) {
	n, err := parseFloat(text, 64)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(n)), err
}

// copied converts a cell to its text.
func copied(dst, cell []byte) ([]byte, error) { return dataset.AppendText(dst, cell), nil }

func document(dst, cell []byte) ([]byte, error) {
	start := len(dst)
	if dst = dataset.AppendText(dst, cell); !json.Valid(dst[start:]) {
		return dst, fmt.Errorf("it is no JSON: %w", errAsText)
	}
	return dst, nil
}

// decoded converts a cell to its bytes.
func decoded(dst, cell []byte) ([]byte, error) {
	var buffer [64]byte
	dst, err := base64.StdEncoding.AppendDecode(dst, dataset.AppendText(buffer[:0], cell))
	if err != nil {
		return dst, errors.New("it is no base64: correct what the source sends")
	}
	return dst, nil
}
