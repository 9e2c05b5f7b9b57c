package dataset

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuilderValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		give func(b *Builder)
		want string
	}{
		{"null", func(b *Builder) { b.Null(0) }, `null`},
		{"minimum integer", func(b *Builder) { b.Int(0, math.MinInt64) }, `-9223372036854775808`},
		{"maximum integer", func(b *Builder) { b.Uint(0, math.MaxUint64) }, `18446744073709551615`},
		{"zero", func(b *Builder) { b.Float(0, 0, 64) }, `0`},
		{"negative zero", func(b *Builder) { b.Float(0, math.Copysign(0, -1), 64) }, `-0`},
		{"fraction", func(b *Builder) { b.Float(0, 1234567.25, 64) }, `1234567.25`},
		{"many digits", func(b *Builder) { b.Float(0, 0.30000000000000004, 64) }, `0.30000000000000004`},
		{"32 bits", func(b *Builder) { b.Float(0, float64(float32(0.1)), 32) }, `0.1`},
		{"large", func(b *Builder) { b.Float(0, 1e20, 64) }, `1e20`},
		{"large and negative", func(b *Builder) { b.Float(0, -1.5e300, 64) }, `-1.5e300`},
		{"small", func(b *Builder) { b.Float(0, 1e-15, 64) }, `0.000000000000001`},
		{"too small for digits", func(b *Builder) { b.Float(0, 9.99e-16, 64) }, `9.99e-16`},
		{"first with exponent", func(b *Builder) { b.Float(0, 1e15, 64) }, `1e15`},
		{"first with exponent of 32 bits", func(b *Builder) { b.Float(0, float64(float32(1e15)), 32) }, `1e15`},
		{"digits behind the point of a large one", func(b *Builder) { b.Float(0, 1234567890123456.7, 64) }, `1234567890123456.8`},
		{"no digit behind the point of a large one", func(b *Builder) { b.Float(0, -1234567890123456, 64) }, `-1.234567890123456e15`},
		{"fixed", func(b *Builder) { b.Fixed(0, -1234.5, 3) }, `-1234.500`},
		{"fixed and whole", func(b *Builder) { b.Fixed(0, 7, 2) }, `7.00`},
		{"fixed and rounded", func(b *Builder) { b.Fixed(0, 0.125, 2) }, `0.12`},
		{"fixed without decimals", func(b *Builder) { b.Fixed(0, 1e15, 0) }, `1000000000000000`},
		{"fixed and large", func(b *Builder) { b.Fixed(0, 1e25, 1) }, `10000000000000000000000000.0`},
		{"smallest", func(b *Builder) { b.Float(0, 5e-324, 64) }, `5e-324`},
		{"last without exponent", func(b *Builder) { b.Float(0, 999999999999999, 64) }, `999999999999999`},
		{"empty text", func(b *Builder) { b.Text(0, nil) }, `""`},
		{"escapes", func(b *Builder) { b.Text(0, []byte("a\"\\\n\r\t\x00\x1f\x7fz")) }, `"a\"\\\n\r\t\u0000\u001f` + "\x7f" + `z"`},
		{"no HTML escapes", func(b *Builder) { b.Text(0, []byte("<&>\u2028é😀")) }, "\"<&>\u2028é😀\""},
		{"binary", func(b *Builder) { b.Binary(0, []byte{0xff, 0xfe, 0, 1}) }, `"//4AAQ=="`},
		{"no bytes", func(b *Builder) { b.Binary(0, nil) }, `""`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := NewBuilder(columnsOf("a", "text"))
			test.give(b)
			if err := b.EndRow(); err != nil {
				t.Fatal(err)
			}
			got := string(b.Fields()[0])
			if diff := cmp.Diff("["+test.want+"]", got); diff != "" {
				t.Error(diff)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("%s is not JSON", got)
			}
			if b.bytes != len(got) {
				t.Errorf("%d bytes, but the field has %d", b.bytes, len(got))
			}
		})
	}
}

func TestBuilderFloatsReadBack(t *testing.T) {
	t.Parallel()
	for exponent := -1074; exponent < 1024; exponent++ {
		for _, v := range []float64{math.Ldexp(1, exponent), math.Ldexp(-1.7, exponent)} {
			got := string(AppendFloat(nil, v, 64))
			if back, err := strconv.ParseFloat(got, 64); err != nil || back != v {
				t.Errorf("%g became %s", v, got)
			}
			if strings.Contains(got, "+") || strings.Contains(got, "e0") || strings.Contains(got, "e-0") {
				t.Errorf("%g became %s", v, got)
			}
		}
	}
}

func TestBuilderErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		give func(b *Builder)
		want string
	}{
		{"no value", func(b *Builder) { b.Int(0, 2) }, `column "b": 0 values in one row, expected 1`},
		{"two values", func(b *Builder) { b.Int(0, 2); b.Null(1); b.Null(1) }, `column "b": 2 values in one row, expected 1`},
		{"two and none", func(b *Builder) { b.Int(0, 2); b.Int(0, 2) }, `column "a": 2 values in one row, expected 1`},
		{"not a number", func(b *Builder) { b.Int(0, 2); b.Float(1, math.NaN(), 64) }, `column "b": the float is NaN or infinite`},
		{"infinite", func(b *Builder) { b.Float(0, math.Inf(-1), 64); b.Null(1) }, `column "a": the float is NaN or infinite`},
		{"fixed and not a number", func(b *Builder) { b.Int(0, 2); b.Fixed(1, math.NaN(), 2) }, `column "b": the float is NaN or infinite`},
		{"not UTF-8", func(b *Builder) { b.Int(0, 2); b.Text(1, []byte("secret\xff")) }, `column "b": the text is not UTF-8`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := NewBuilder(columnsOf("a", "integer", "b", "text"))
			row := func(a int, text string) {
				t.Helper()
				b.Int(0, int64(a))
				b.Text(1, []byte(text))
				if err := b.EndRow(); err != nil {
					t.Fatal(err)
				}
			}
			row(1, "x")
			size := b.bytes
			test.give(b)
			err := b.EndRow()
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if b.Rows() != 1 || b.bytes != size {
				t.Errorf("%d rows and %d bytes after a bad row, want 1 and %d", b.Rows(), b.bytes, size)
			}
			row(3, "y") // the bad row left nothing behind
			if diff := cmp.Diff([]string{`[1,3]`, `["x","y"]`}, fieldTexts(b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func fieldTexts(b *Builder) []string {
	var texts []string
	for _, field := range b.Fields() {
		texts = append(texts, string(field))
	}
	return texts
}

func TestBuilderFields(t *testing.T) {
	t.Parallel()
	b := NewBuilder(columnsOf("a", "integer", "b", "text"))
	if diff := cmp.Diff([]string{"[]", "[]"}, fieldTexts(b)); diff != "" {
		t.Error(diff)
	}
	for range 3 {
		b.Int(0, 7)
		b.Null(1)
		if err := b.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	b.Int(0, 8) // a row that is not ended
	for range 2 {
		if diff := cmp.Diff([]string{"[7,7,7]", "[null,null,null]"}, fieldTexts(b)); diff != "" {
			t.Error(diff)
		}
	}
	b.Reset()
	if diff := cmp.Diff([]string{"[]", "[]"}, fieldTexts(b)); diff != "" || b.Rows() != 0 || b.bytes != 4 {
		t.Error(diff, b.Rows(), b.bytes)
	}
}

func TestBuilderFull(t *testing.T) {
	t.Parallel()
	byRows, byBytes := NewBuilder(columnsOf("a", "integer")), NewBuilder(columnsOf("a", "text", "b", "text"))
	for byRows.Rows() < MaxChunkRows {
		if byRows.Full() {
			t.Fatalf("full with %d rows", byRows.Rows())
		}
		byRows.Int(0, 1)
		if err := byRows.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if !byRows.Full() {
		t.Error("not full with MaxChunkRows")
	}
	text := bytes.Repeat([]byte("x"), 1000)
	for byBytes.bytes < MaxChunkBytes {
		if byBytes.Full() {
			t.Fatalf("full with %d bytes", byBytes.bytes)
		}
		byBytes.Text(0, text)
		byBytes.Text(1, text)
		if err := byBytes.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if !byBytes.Full() {
		t.Error("not full with MaxChunkBytes")
	}
}

// TestBuilderDrops: the values of a dropped column are checked, and neither kept nor counted.
func TestBuilderDrops(t *testing.T) {
	t.Parallel()
	b := NewBuilder(columnsOf("a", "text", "b", "text", "c", "text"), 1)
	long := bytes.Repeat([]byte("x"), MaxChunkBytes)
	for round := range 2 {
		for n := range int64(2) {
			b.Int(0, n)
			b.Text(1, long)
			b.Text(2, []byte("c"))
			if err := b.EndRow(); err != nil {
				t.Fatal(err)
			}
		}
		if size := len(b.columns[1].text); size != 1 {
			t.Errorf("%d bytes of the dropped column are kept", size)
		}
		b.Int(0, 2)
		b.Text(2, nil)
		if err := b.EndRow(); err == nil || !strings.Contains(err.Error(), `column "b": 0 values`) {
			t.Errorf("no value: %v", err)
		}
		b.Int(0, 2)
		b.Text(1, []byte{0xff})
		b.Text(2, nil)
		if err := b.EndRow(); err == nil || !strings.Contains(err.Error(), `column "b": the text is not UTF-8`) {
			t.Errorf("not UTF-8: %v", err)
		}
		if got := string(bytes.Join(b.Fields(), []byte(" "))); got != `[0,1] ["c","c"]` || b.Rows() != 2 || b.Full() {
			t.Errorf("round %d: %s, %d rows, full: %t", round, got, b.Rows(), b.Full())
		}
		b.Reset()
	}
}
