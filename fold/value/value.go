package value

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/collation"
	"github.com/fanfold/fanfold/report"
)

// Kind is the type of a value.
type Kind uint8

// The kinds. Booleans are the integers 0 and 1.
const (
	Null Kind = iota
	Integer
	Decimal
	Double
	Text
	Binary
	JSON
	Date
	Datetime
	Time
)

// Floating is the Scale of a double without a fixed number of decimals, and of a decimal that has those of each
// value.
const Floating = -1

// Instant is the Zone of a datetime of UTC that takes the zone of those that it is compared with.
const Instant = "instant"

// Type is the type of a column or an expression.
type Type struct {
	Kind     Kind
	Unsigned bool // of an integer; of a Binary: it is a number where one is needed, as 0x41
	Scale    int  // decimals of a decimal or double, or of the seconds of a datetime or time; or Floating
	Bits     int  // of a double: 32 for FLOAT
	Zerofill int  // minimum digits of a number, filled with zeros
	// Zone is that of a datetime, a name of the tz database, or Instant. Empty: the one that it is compared with.
	Zone string
	// Collation compares texts. Nil: by their bytes, but the collation of the other text decides for both.
	Collation *collation.Collation
	Explicit  bool // COLLATE names the collation
}

// utc is the zone that a column does not name.
const utc = "UTC"

// kinds maps the kinds of columns.
var kinds = map[report.Kind]Kind{
	report.KindInteger: Integer, report.KindDecimal: Decimal, report.KindFloat: Double, report.KindText: Text,
	report.KindDate: Date, report.KindDatetime: Datetime, report.KindTime: Time, report.KindJSON: JSON,
	report.KindBinary: Binary,
}

// TypeOf returns the type of a column.
func TypeOf(c dataset.Column) Type {
	t := Type{Kind: kinds[c.Kind], Bits: c.Bits, Zerofill: c.Zerofill, Zone: c.Zone, Unsigned: c.Unsigned,
		Scale: c.Scale, Collation: collation.Named(c.Collation)}
	unknown := t.Kind == Decimal && c.Digits == 0 ||
		!c.Fixed && (t.Kind == Double || t.Kind.IsTemporal() && c.Scale == 0)
	if t.Kind == Datetime && t.Zone == "" {
		t.Zone = utc
	}
	switch {
	case unknown && t.Kind != Date:
		t.Scale = Floating
	case t.Kind.IsTemporal():
		t.Scale = min(t.Scale, 6)
	}
	return t
}

// Column returns the column that has the values of a type.
func (t Type) Column(name string) dataset.Column {
	c := dataset.Column{Name: name, Kind: report.KindText, Bits: t.Bits, Zerofill: t.Zerofill, Zone: t.Zone,
		Unsigned: t.Unsigned && t.Kind == Integer}
	for of, kind := range kinds {
		if kind == t.Kind {
			c.Kind = of
		}
	}
	if c.Scale = max(t.Scale, 0); t.Kind == Decimal && t.Scale >= 0 {
		c.Digits = maxDigits
	}
	if c.Fixed = t.Kind == Double && t.Scale >= 0; c.Zone == utc || c.Zone == Instant {
		c.Zone = ""
	}
	return c
}

// Derive returns the collation of what is made of values of several types, as MariaDB derives it: binary values decide,
// then COLLATE, then a column whose collation compares bytes, then the others. Two of the same rank make one that
// cannot compare.
func Derive(types ...Type) (c *collation.Collation, explicit bool) {
	for _, t := range types {
		switch {
		case t.Kind == Binary:
			return collation.Named("binary"), false
		case !t.Kind.IsText() || t.Collation == nil || t.Collation == c || explicit && !t.Explicit:
		case c == nil || t.Explicit && !explicit:
			c, explicit = t.Collation, t.Explicit
		case explicit || !c.ComparesBytes() && !t.Collation.ComparesBytes():
			c = collation.Mixed(c, t.Collation)
		case t.Collation.ComparesBytes() && !c.ComparesBytes():
			c = t.Collation
		}
	}
	return c, explicit
}

// ZoneOf returns the zone of the datetimes of several types, and why they cannot be compared: empty, or a clause.
func ZoneOf(types ...Type) (zone, why string) {
	for _, t := range types {
		switch {
		case t.Kind != Datetime || t.Zone == "" || t.Zone == zone:
		case zone == "" || zone == Instant:
			zone = t.Zone
		case t.Zone != Instant:
			return zone, fmt.Sprintf("datetimes of the time zones %s and %s meet", zone, t.Zone)
		}
	}
	return zone, ""
}

// IsTemporal tells whether a kind is a date or a time.
func (k Kind) IsTemporal() bool { return k == Date || k == Datetime || k == Time }

// Clashes tells whether one kind is a time and the other a date: MariaDB would add the date of the day.
func (k Kind) Clashes(other Kind) bool {
	return k.IsTemporal() && other.IsTemporal() && (k == Time) != (other == Time)
}

// IsText tells whether a kind has texts.
func (k Kind) IsText() bool { return k == Text || k == Binary || k == JSON }

// Value is one value. The zero Value is NULL. It is immutable; Bytes may be a part of a cell.
type Value struct {
	Kind     Kind
	Unsigned bool    // Int is a uint64; Bytes of a Binary are a number where one is needed
	Int      int64   // of Integer, Date, Datetime and Time: see temporal.go
	Float    float64 // of Double
	Dec      Dec     // of Decimal
	Bytes    []byte  // of Text, Binary and JSON
	// Collation is that of the expression; see Type.
	Collation *collation.Collation
}

// Of returns values of Go types.
func OfInt(n int64) Value     { return Value{Kind: Integer, Int: n} }
func OfUint(n uint64) Value   { return Value{Kind: Integer, Int: int64(n), Unsigned: n > math.MaxInt64} }
func OfFloat(f float64) Value { return Value{Kind: Double, Float: f + 0} } // -0 becomes 0
func OfText(b []byte) Value   { return Value{Kind: Text, Bytes: b} }
func OfDec(d Dec) Value       { return Value{Kind: Decimal, Dec: d} }

// OfBool returns 1 or 0.
func OfBool(b bool) Value {
	if b {
		return OfInt(1)
	}
	return OfInt(0)
}

// IsNull tells whether the value is NULL.
func (v Value) IsNull() bool { return v.Kind == Null }

// Decode returns the value of a cell. The error says that a cell has another form than its column.
func Decode(cell []byte, t Type) (Value, error) {
	if dataset.IsNull(cell) {
		return Value{}, nil
	}
	inside := cell
	if cell[0] == '"' {
		inside = cell[1 : len(cell)-1]
	}
	switch t.Kind {
	case Integer:
		return integer(cell)
	case Decimal:
		if d, ok := ParseDec(inside); ok {
			return OfDec(d), nil
		}
	case Double:
		if f, err := strconv.ParseFloat(string(inside), 64); err == nil {
			return OfFloat(widen(f, inside, t.Bits)), nil
		}
	case Date, Datetime, Time:
		if v, how := readTemporal(inside, t.Kind); how == readWhole || how == noSuchDay { // of STR_TO_DATE
			return v, nil
		}
	case Binary:
		decoded, err := base64.StdEncoding.AppendDecode(nil, inside)
		if err == nil {
			return Value{Kind: Binary, Bytes: decoded}, nil
		}
	case Text, JSON:
		return Value{Kind: t.Kind, Bytes: plain(cell)}, nil
	}
	return Value{}, fmt.Errorf("%s is not a valid %s", report.Shorten(string(cell)), t.Kind)
}

// widen returns the double of a FLOAT.
func widen(f float64, text []byte, bits int) float64 {
	if bits == 32 {
		if single, err := strconv.ParseFloat(string(text), 32); err == nil {
			return single
		}
	}
	return f
}

// plain returns the text of a cell, without a copy if it has no escapes.
func plain(cell []byte) []byte {
	for _, c := range cell {
		if c == '\\' {
			return dataset.AppendText(make([]byte, 0, len(cell)), cell)
		}
	}
	if cell[0] == '"' {
		return cell[1 : len(cell)-1]
	}
	return cell
}

// integerDigits is the number of digits that always fit into 64 bits.
const integerDigits = 18

// PlainInteger parses a cell that is an integer in its usual form. False means unknown: the cell can be an integer in
// another form.
func PlainInteger(cell []byte) (int64, bool) {
	digits := cell
	negative := len(cell) > 0 && cell[0] == '-'
	if negative {
		digits = cell[1:]
	}
	if len(digits) == 0 || len(digits) > integerDigits {
		return 0, false
	}
	n := int64(0)
	for _, c := range digits {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if negative {
		n = -n
	}
	return n, true
}

// integer parses an integer, true or false.
func integer(cell []byte) (Value, error) {
	switch string(cell) {
	case "true":
		return OfInt(1), nil
	case "false":
		return OfInt(0), nil
	}
	if n, err := strconv.ParseInt(string(cell), 10, 64); err == nil {
		return OfInt(n), nil
	}
	n, err := strconv.ParseUint(string(cell), 10, 64)
	if err != nil {
		return Value{}, fmt.Errorf("%s is not a valid integer", report.Shorten(string(cell)))
	}
	return OfUint(n), nil
}

// AppendCell appends the JSON of a value of a type.
func (v Value) AppendCell(dst []byte, t Type) []byte {
	switch v.Kind {
	case Null:
		return append(dst, "null"...)
	case Integer:
		if v.Unsigned {
			return strconv.AppendUint(dst, uint64(v.Int), 10)
		}
		return strconv.AppendInt(dst, v.Int, 10)
	case Double:
		if t.Kind == Double && t.Scale >= 0 {
			return dataset.AppendFixed(dst, v.Float, t.Scale)
		}
		return dataset.AppendFloat(dst, v.Float, bitsOf(t))
	case Binary:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes), '"')
	case Text, JSON:
		return dataset.AppendString(dst, v.Bytes)
	}
	return append(v.AppendText(append(dst, '"'), t), '"')
}

// bitsOf returns the size of a double in bits.
func bitsOf(t Type) int {
	if t.Kind == Double && t.Bits == 32 {
		return 32
	}
	return 64
}

// AppendText appends the text of a value, as the server shows it; nothing for NULL.
func (v Value) AppendText(dst []byte, t Type) []byte {
	switch v.Kind {
	case Null:
		return dst
	case Text, JSON, Binary:
		return append(dst, v.Bytes...)
	case Decimal:
		if t.Kind == Decimal && t.Scale >= 0 {
			return v.Dec.Round(t.Scale).append(dst)
		}
		return v.Dec.append(dst)
	case Date, Datetime, Time:
		return v.appendTemporal(dst, max(t.Scale, 0), t.Scale == Floating)
	}
	start := len(dst)
	if v.Kind == Double && t.Kind == Double && t.Bits == 32 && t.Scale < 0 { // a FLOAT has 6 digits as a text
		v.Float, _ = strconv.ParseFloat(strconv.FormatFloat(v.Float, 'g', 6, 64), 64)
		t.Bits = 0
	}
	dst = v.AppendCell(dst, t)
	for len(dst)-start < t.Zerofill {
		dst = append(dst, 0)
		copy(dst[start+1:], dst[start:])
		dst[start] = '0'
	}
	return dst
}

// String names the kind.
func (k Kind) String() string {
	return [...]string{"NULL", "integer", "decimal", "double", "text", "binary", "JSON", "date", "datetime", "time"}[k]
}
