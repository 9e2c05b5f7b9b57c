package http

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
)

// FuzzWalk: what is read row by row is what is found in the whole document, and nothing
// that is no JSON is taken for an answer.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{
		`{"rows": [{"v": 1}, null, "x", [[]]], "next": "c"}`, `{"next": {"a": 1e400}, "a": [1, {"b": null}], "rows": []}`, `{"rows": null}`,
		`{"rows": [1], "rows": [2]}`, `{"rows": {}}`, `[[1,2],[3]]`, `7`, ``, `{"rows": [`, `{"rows": [1]} x`, `{"a": {"rows": [1]}, "rows": [2]}`,
		"{\"rows\": [\"\xff\"]}", `{"rows": ["\ud800"]}`, `{"next": 1, "next": 2, "rows": []}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	rows, _ := report.ParseJSONPath("$.rows")
	deep, _ := report.ParseJSONPath("$[0]")
	next, _ := report.ParseJSONPath("$.next")
	f.Fuzz(func(t *testing.T, data []byte, array bool) {
		way := rows
		if array {
			way = deep
		}
		got := []any{}
		w := newWalk(bytes.NewReader(data), func(row any) error { got = append(got, row); return nil }, next)
		if err := w.run(way); err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("taken for JSON: %q", data)
		}
		if !utf8.Valid(data) || repeats(data) {
			return // beside the rows nobody looks at what is not UTF-8; of two members of one name the first counts
		}
		document, err := whole(data)
		if err != nil {
			t.Fatal(err)
		}
		value, there := way.Find(document)
		if there != w.there {
			t.Fatalf("%q: rows %v, found %v", data, there, w.there)
		}
		want, _ := value.([]any)
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %v, not %v", data, got, want)
		}
		if value, there := next.Find(document); there != w.found[0].there || !reflect.DeepEqual(value, w.found[0].value) {
			t.Fatalf("%q: next is %v, not %v", data, w.found[0].value, value)
		}
	})
}

// repeats tells whether an object of a document has two members of one name.
func repeats(data []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(data))
	type level struct {
		names map[string]bool // nil in an array
		name  bool            // a name comes next
	}
	var levels []level
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		top := len(levels) - 1
		if text, ok := token.(string); ok && top >= 0 && levels[top].names != nil && levels[top].name {
			if levels[top].names[text] {
				return true
			}
			levels[top].names[text], levels[top].name = true, false
			continue
		}
		if top >= 0 {
			levels[top].name = true
		}
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{names: map[string]bool{}, name: true})
		case json.Delim('['):
			levels = append(levels, level{})
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:top]
		}
	}
}
