package dataset

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

func TestRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, a, b, wrong string }{
		{`[]`, `[]`, `[]`, ""},
		{" [ ] \n", `[]`, `[]`, ""},
		{`[[1,"x"],[2,null]]`, `[1,2]`, `["x",null]`, ""},
		{`[ [ 1 , "x" ] , {"b":"y","a":12345678901234567890.10} ]`, `[1,12345678901234567890.10]`, `["x","y"]`, ""},
		{`[{"a":true,"b":"é\u00e9\""}]`, `[true]`, `["é\u00e9\""]`, ""},
		{`[{"\u0061":1,"b":2}]`, `[1]`, `[2]`, ""},
		{``, "", "", "byte 0: expected a JSON array of rows"},
		{`{"a":1}`, "", "", "byte 0: expected a JSON array of rows"},
		{`[1,2]`, "", "", "row 1, byte 1: expected a row"},
		{`[[1,2],[1]]`, "", "", "row 2, byte 10: 1 values for 2 columns"},
		{`[[1,2,3]]`, "", "", "row 1, byte 8: 3 values for 2 columns"},
		{`[[1,[2]]]`, "", "", "row 1, byte 4: an array cannot contain arrays or objects"},
		{`[[1,{}]]`, "", "", "row 1, byte 4: an array cannot contain arrays or objects"},
		{`[[1,NaN]]`, "", "", "row 1, byte 4: expected a number, string, true, false or null"},
		{`[[1,01]]`, "", "", "row 1, byte 4: invalid JSON number"},
		{`[[1,2]`, "", "", "after row 1, byte 6: expected a comma or the closing bracket"},
		{`[[1,2],]`, "", "", "row 2, byte 7: expected a row"},
		{`[[1,]]`, "", "", "row 1, byte 4: expected a number, string"},
		{`[[1,2]] x`, "", "", "byte 8: unexpected text after the array"},
		{`[{"a":1}]`, "", "", `row 1, byte 8: column "b" is missing: write null`},
		{`[{"a":1,"b":2,"c":3}]`, "", "", `row 1, byte 17: unknown column "c"; the columns are a, b`},
		{`[{"a":1,"a":2}]`, "", "", "the row has this column name twice"},
		{`[{a:1}]`, "", "", "row 1, byte 2: expected a number, string"},
		{`[{1:1}]`, "", "", "a column name in quotes"},
		{`[{"a" 1}]`, "", "", "expected a colon"},
		{"[[1,\"\xff\"]]", "", "", "byte 5: the text is not UTF-8"},
	} {
		fields, rows, err := Rows([]string{"a", "b"}, []report.Kind{report.KindText, report.KindText}, []byte(c.text))
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, not %s", c.text, err, c.wrong)
			}
			continue
		}
		if err != nil || string(fields[0]) != c.a || string(fields[1]) != c.b {
			t.Errorf("%s: %s %v", c.text, fields, err)
			continue
		}
		chunk, err := DecodeChunk([]Column{{Name: "a"}, {Name: "b"}}, fields)
		if err != nil || chunk.Rows() != rows {
			t.Errorf("%s: %d rows: %v", c.text, rows, err)
		}
	}
}

// TestRowsOfATypeAreNumbers checks that another value is refused, with its row and column.
func TestRowsOfATypeAreNumbers(t *testing.T) {
	t.Parallel()
	for kind, values := range map[report.Kind]struct{ good, bad []string }{
		report.KindInteger: {[]string{"0", "-1", "null", `"42"`, "12345678901234567890"}, []string{`"x"`, "1.5", "1e3", "true", `""`, `" 1"`, `"1 "`}},
		report.KindDecimal: {[]string{"0", "-1.50", "null", `"12.50"`, "7"}, []string{`"9,5"`, `"x"`, "1e400", `"1e4"`, "false", `"."`, `"1."`}},
		report.KindFloat:   {[]string{"0", "1e20", "-1.5E-3", "null", `"1.5"`}, []string{`"9,5"`, `"NaN"`, "true", `"0x1p2"`}},
		report.KindText:    {[]string{`"x"`, "1", "true", "null"}, nil},
		report.KindDate:    {[]string{`"2024-02-29"`, `"yesterday"`}, nil}, // stays as it is in the file
	} {
		for _, v := range values.good {
			if _, _, err := Rows([]string{"a"}, []report.Kind{kind}, []byte("[["+v+"]]")); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		for _, v := range values.bad {
			_, _, err := Rows([]string{"a", "b"}, []report.Kind{report.KindText, kind}, []byte(`[["x",null],["y",`+v+`]]`))
			if want := `row 2: column "b": the value ` + v + " is not of type " + string(kind); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v", kind, v, err)
			}
		}
	}
}

// FuzzRows checks that accepted rows are those that encoding/json reads, and form a valid chunk.
func FuzzRows(f *testing.F) {
	for _, text := range []string{`[]`, `[[1,"x"],[null,true]]`, `[{"b":-1.5e3,"a":"\ud83d\ude00"}]`, `[[1,2],]`, `[[[]]]`, `[{"a":1,"a":2}]`} {
		f.Add([]byte(text))
	}
	columns := []string{"a", "b"}
	f.Fuzz(func(t *testing.T, text []byte) {
		fields, rows, err := Rows(columns, make([]report.Kind, len(columns)), text)
		if err != nil {
			return
		}
		if _, err := DecodeChunk([]Column{{Name: "a"}, {Name: "b"}}, fields); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var want []any
		decode(t, text, &want)
		if len(want) != rows {
			t.Fatalf("%q: %d rows, not %d", text, rows, len(want))
		}
		for i, name := range columns {
			var column []any
			decode(t, fields[i], &column)
			for n, row := range want {
				value := any(nil)
				switch row := row.(type) {
				case []any:
					value = row[i]
				case map[string]any:
					value = row[name]
				}
				if !reflect.DeepEqual(column[n], value) {
					t.Fatalf("%q: row %d has %v in %s, not %v", text, n, column[n], name, value)
				}
			}
		}
	})
}

// decode decodes JSON with the digits of its numbers.
func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}
