package dataset

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/report"
)

func TestDecodeChunk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, field string
		cells       []string
		texts       []string
	}{
		{"empty", `[]`, nil, nil},
		{"empty with space", " [ \n] ", nil, nil},
		{"scalars", `[null,true,false,0,-1,1.5,1E+20,2e-7,""]`,
			[]string{`null`, `true`, `false`, `0`, `-1`, `1.5`, `1E+20`, `2e-7`, `""`},
			[]string{``, `true`, `false`, `0`, `-1`, `1.5`, `1E+20`, `2e-7`, ``}},
		{"white space", " [ 1 ,\t\"a , b\"\r\n, null ] \n", []string{`1`, `"a , b"`, `null`}, []string{`1`, `a , b`, ``}},
		{"escapes", `["\"\\\/\b\f\n\r\t","\u00e9\u20AC"]`,
			[]string{`"\"\\\/\b\f\n\r\t"`, `"\u00e9\u20AC"`}, []string{"\"\\/\b\f\n\r\t", "é€"}},
		{"surrogates", `["\ud83d\ude00","\ud83dx","\ude00\ud83d","\ud83d\u0041","\ud83d"]`,
			[]string{`"\ud83d\ude00"`, `"\ud83dx"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, `"\ud83d"`},
			[]string{"😀", "\ufffdx", "\ufffd\ufffd", "\ufffdA", "\ufffd"}},
		{"brackets in strings", `["]","[","\"]"]`, []string{`"]"`, `"["`, `"\"]"`}, []string{`]`, `[`, `"]`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			columns := columnsOf("a", "text", "b", "text")
			c := decoded(t, columns, [][]byte{[]byte(test.field), []byte(test.field)})
			for col := range columns {
				var cells, texts []string
				for row := range c.Rows() {
					cells = append(cells, string(c.Cell(col, row)))
					texts = append(texts, string(AppendText(nil, c.Cell(col, row))))
				}
				if diff := cmp.Diff(test.cells, cells); diff != "" {
					t.Errorf("column %d: %s", col, diff)
				}
				if diff := cmp.Diff(test.texts, texts); diff != "" {
					t.Errorf("column %d: %s", col, diff)
				}
			}
		})
	}
}

func TestDecodeChunkErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, field, want string }{
		{"nothing", ``, `byte 0: expected a JSON array`},
		{"no array", `{"a":1}`, `byte 0: expected a JSON array`},
		{"open", `[`, `byte 1: expected a number, string, true, false or null`},
		{"open after value", `[1`, `byte 2: expected a comma or the closing bracket`},
		{"open after comma", `[1,`, `byte 3: expected a number, string`},
		{"comma at the end", `[1,2,]`, `byte 5: expected a number, string`},
		{"comma at the start", `[,1]`, `byte 1: expected a number, string`},
		{"no comma", `[1 2]`, `byte 3: expected a comma or the closing bracket`},
		{"nested array", `[1,[2]]`, `byte 3: an array cannot contain arrays or objects`},
		{"nested object", `[1,{}]`, `byte 3: an array cannot contain arrays or objects`},
		{"behind", `[1,2]]`, `byte 5: unexpected text after the array`},
		{"two arrays", `[1,2] [3]`, `byte 6: unexpected text after the array`},
		{"half a word", `[1,nul]`, `byte 3: expected a number, string`},
		{"longer word", `[1,nulls]`, `byte 7: expected a comma or the closing bracket`},
		{"word in capitals", `[1,NULL]`, `byte 3: expected a number, string`},
		{"not a number", `[1,NaN]`, `byte 3: expected a number, string`},
		{"leading zero", `[1,01]`, `byte 3: invalid JSON number`},
		{"lone minus", `[1,-]`, `byte 4: invalid JSON number`},
		{"plus", `[1,+1]`, `byte 3: expected a number, string`},
		{"no fraction", `[1,1.]`, `byte 5: invalid JSON number`},
		{"no whole", `[1,.5]`, `byte 3: expected a number, string`},
		{"no exponent", `[1,1e]`, `byte 5: invalid JSON number`},
		{"no exponent after sign", `[1,1e+]`, `byte 6: invalid JSON number`},
		{"open string", `[1,"a`, `byte 5: the string has no closing quote`},
		{"open escape", `[1,"a\`, `byte 5: invalid character or escape`},
		{"open after escape", `[1,"a\"`, `byte 7: the string has no closing quote`},
		{"unknown escape", `[1,"\x"]`, `byte 4: invalid character or escape`},
		{"bad hex", `[1,"\u12g4"]`, `byte 4: invalid character or escape`},
		{"short hex", `[1,"\u12"]`, `byte 4: invalid character or escape`},
		{"control character", "[1,\"a\nb\"]", `byte 5: invalid character or escape`},
		{"not UTF-8", "[1,\"é\xff\"]", `byte 6: the text is not UTF-8`},
		{"fewer", `[1]`, `byte 2: the array ends after 1 values, but column "good" has 2`},
		{"more", `[1,2,3]`, `byte 6: the array ends after 3 values, but column "good" has 2`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := DecodeChunk(columnsOf("good", "text", "bad", "text"), [][]byte{[]byte(`[1,2]`), []byte(test.field)})
			want := `column "bad", ` + test.want
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
			if c != nil {
				t.Error("a chunk in spite of the error")
			}
		})
	}
	if _, err := DecodeChunk(columnsOf("a", "text"), nil); err == nil {
		t.Error("no error for a missing field")
	}
}

// FuzzDecodeChunk compares with encoding/json, and with a round trip through
// Builder. encoding/json is less strict about UTF-8 only.
func FuzzDecodeChunk(f *testing.F) {
	for _, seed := range []string{
		`[]`, ` [ 1 , -2.5e+3 , null,true,false ] `, `["a","\ud83d\ude00\n\"","\ud83d"]`, `[[1]]`, `[{"a":1}]`, `[1,]`,
		string(frame(f, []byte(`["x","y"]`))), string(frame(f, nil)), string(zstdMagic), `[1]x`, `["`, `["\`, `["\u`, `[01]`, `[-]`, "[\"\xff\"]", `[1e]`, `nul`, `[nul`, ``,
	} {
		f.Add([]byte(seed), []byte(`[1,2]`))
		f.Add([]byte(`["x"]`), []byte(seed))
	}
	columns := columnsOf("a", "text", "b", "text")
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c, err := DecodeChunk(columns, [][]byte{a, b})
		wantA, okA := scalars(a)
		wantB, okB := scalars(b)
		if want := okA && okB && len(wantA) == len(wantB); (err == nil) != want {
			t.Fatalf("error %v; encoding/json says %v", err, want)
		}
		if err != nil {
			return
		}
		builder := NewBuilder(columns)
		for row := range c.Rows() {
			for col, want := range []any{wantA[row], wantB[row]} {
				text := AppendText(nil, c.Cell(col, row))
				if w := scalarText(want); string(text) != w {
					t.Fatalf("%s became %q, want %q", c.Cell(col, row), text, w)
				}
				builder.Text(col, text)
			}
			if err := builder.EndRow(); err != nil {
				t.Fatal(err)
			}
		}
		again := decoded(t, columns, builder.Fields())
		for row := range c.Rows() {
			for col := range columns {
				first, second := AppendText(nil, c.Cell(col, row)), AppendText(nil, again.Cell(col, row))
				if !bytes.Equal(first, second) {
					t.Fatalf("%q became %q", first, second)
				}
			}
		}
	})
}

// scalars decodes with encoding/json what DecodeChunk should take.
func scalars(text []byte) ([]any, bool) {
	if bytes.HasPrefix(text, zstdMagic) {
		var err error
		if text, err = decoder().DecodeAll(text, nil); err != nil {
			return nil, false
		}
	}
	if invalidUTF8(text) < len(text) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var values []any
	if !json.Valid(text) || d.Decode(&values) != nil || values == nil {
		return nil, false
	}
	for _, v := range values {
		switch v.(type) {
		case []any, map[string]any:
			return nil, false
		}
	}
	return values, true
}

func scalarText(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "true"
		}
		return "false"
	case json.Number:
		return v.String()
	case string:
		return v
	}
	return ""
}

// columnsOf makes columns from pairs of name and kind.
func columnsOf(pairs ...string) []Column {
	var columns []Column
	for i := 0; i < len(pairs); i += 2 {
		columns = append(columns, Column{Name: pairs[i], Kind: report.Kind(pairs[i+1])})
	}
	return columns
}

func decoded(t *testing.T, columns []Column, fields [][]byte) *Chunk {
	t.Helper()
	c, err := DecodeChunk(columns, fields)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
