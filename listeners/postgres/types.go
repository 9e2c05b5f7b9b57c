package postgres

import (
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// form is how the server sends the values of a type, and what is made of them.
type form int

const (
	formText    form = iota // as the server writes it
	formPadded              // char(n), without the spaces at its end
	formInt2                // binary from here …
	formInt4                //
	formInt8                //
	formOID                 //
	formFloat4              //
	formFloat8              //
	formBool                // 1 or 0
	formBytes               // … to here
	formNumeric             // a text, except NaN and infinities
	formDate                // a text, if it is within 0001-01-01 and 9999-12-31
	formStamp               // the same
	formInstant             // the same; the server adds +00
	formArray               // becomes JSON
)

// binary reports whether the server sends a form in binary, which spares both sides the text.
func (f form) binary() bool { return f >= formInt2 && f <= formBytes }

// valueType is what becomes of a type of the server.
type valueType struct {
	kind    report.Kind
	form    form
	element uint32 // type of the elements of an array; 0: it is none
	name    string // of a type that compares texts in its own way
}

// kinds are those of the server's own types; other types are text.
var kinds = map[uint32]valueType{
	pgtype.Int2OID:        {report.KindInteger, formInt2, 0, ""},
	pgtype.Int4OID:        {report.KindInteger, formInt4, 0, ""},
	pgtype.Int8OID:        {report.KindInteger, formInt8, 0, ""},
	pgtype.OIDOID:         {report.KindInteger, formOID, 0, ""},
	pgtype.BoolOID:        {report.KindInteger, formBool, 0, ""},
	pgtype.NumericOID:     {report.KindDecimal, formNumeric, 0, ""},
	pgtype.Float4OID:      {report.KindFloat, formFloat4, 0, ""},
	pgtype.Float8OID:      {report.KindFloat, formFloat8, 0, ""},
	pgtype.DateOID:        {report.KindDate, formDate, 0, ""},
	pgtype.TimeOID:        {report.KindTime, formText, 0, ""},
	pgtype.TimestampOID:   {report.KindDatetime, formStamp, 0, ""},
	pgtype.TimestamptzOID: {report.KindDatetime, formInstant, 0, ""},
	pgtype.JSONOID:        {report.KindJSON, formText, 0, ""},
	pgtype.JSONBOID:       {report.KindJSON, formText, 0, ""},
	pgtype.ByteaOID:       {report.KindBinary, formBytes, 0, ""},
	pgtype.BPCharOID:      {report.KindText, formPadded, 0, ""},

	pgtype.BoolArrayOID:        arrayOf(pgtype.BoolOID),
	pgtype.Int2ArrayOID:        arrayOf(pgtype.Int2OID),
	pgtype.Int4ArrayOID:        arrayOf(pgtype.Int4OID),
	pgtype.Int8ArrayOID:        arrayOf(pgtype.Int8OID),
	1028:                       arrayOf(pgtype.OIDOID),
	pgtype.Float4ArrayOID:      arrayOf(pgtype.Float4OID),
	pgtype.Float8ArrayOID:      arrayOf(pgtype.Float8OID),
	pgtype.NumericArrayOID:     arrayOf(pgtype.NumericOID),
	pgtype.TextArrayOID:        arrayOf(pgtype.TextOID),
	pgtype.VarcharArrayOID:     arrayOf(pgtype.VarcharOID),
	pgtype.BPCharArrayOID:      arrayOf(pgtype.BPCharOID),
	pgtype.NameArrayOID:        arrayOf(pgtype.NameOID),
	pgtype.ByteaArrayOID:       arrayOf(pgtype.ByteaOID),
	pgtype.DateArrayOID:        arrayOf(pgtype.DateOID),
	pgtype.TimeArrayOID:        arrayOf(pgtype.TimeOID),
	1270:                       arrayOf(pgtype.TimetzOID),
	pgtype.TimestampArrayOID:   arrayOf(pgtype.TimestampOID),
	pgtype.TimestamptzArrayOID: arrayOf(pgtype.TimestamptzOID),
	pgtype.IntervalArrayOID:    arrayOf(pgtype.IntervalOID),
	pgtype.UUIDArrayOID:        arrayOf(pgtype.UUIDOID),
	pgtype.JSONArrayOID:        arrayOf(pgtype.JSONOID),
	pgtype.JSONBArrayOID:       arrayOf(pgtype.JSONBOID),
	pgtype.InetArrayOID:        arrayOf(pgtype.InetOID),
	pgtype.CIDRArrayOID:        arrayOf(pgtype.CIDROID),
	pgtype.Int4rangeArrayOID:   arrayOf(pgtype.Int4rangeOID),
	pgtype.Int8rangeArrayOID:   arrayOf(pgtype.Int8rangeOID),
	pgtype.NumrangeArrayOID:    arrayOf(pgtype.NumrangeOID),
	pgtype.DaterangeArrayOID:   arrayOf(pgtype.DaterangeOID),
	pgtype.TsrangeArrayOID:     arrayOf(pgtype.TsrangeOID),
	pgtype.TstzrangeArrayOID:   arrayOf(pgtype.TstzrangeOID),
}

func arrayOf(element uint32) valueType { return valueType{report.KindJSON, formArray, element, ""} }

// firstOwn is the first number of a type that is not the server's own.
const firstOwn = 16384

// byBytes compares texts by their bytes, as PostgreSQL does for equality.
const byBytes = "utf8mb4_nopad_bin"

// maxDigits is what a fold calculates with.
const maxDigits = 65

// columnOf returns the column of a field of the result.
func columnOf(f pgconn.FieldDescription, of valueType, zone string) dataset.Column {
	c := dataset.Column{Name: string(f.Name), Kind: of.kind}
	modifier := int(f.TypeModifier)
	switch of.form {
	case formFloat4:
		c.Bits = 32
	case formNumeric:
		if modifier >= 4 {
			digits, scale := (modifier-4)>>16, ((modifier-4)&0x7ff^0x400)-0x400
			if scale < 0 {
				digits, scale = digits-scale, 0
			}
			if digits = max(digits, scale); digits <= maxDigits {
				c.Digits, c.Scale = digits, scale
			}
		}
	case formStamp:
		c.Zone = zone
		c.Fixed = modifier == 0
	case formInstant:
		c.Fixed = modifier == 0
	case formText:
		c.Fixed = of.kind == report.KindTime && modifier == 0
	}
	if of.kind == report.KindText || of.kind == report.KindJSON {
		c.Collation = byBytes
		if of.name != "" {
			c.Collation = of.name
		}
	}
	return c
}
