package http

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"go.yaml.in/yaml/v4"
)

// These limit a body, because aliases can multiply its values without end.
const (
	maxValues = 10_000
	maxLevels = 50
)

// body decodes a body of at most left values and levels, and expands the variables in
// its texts, which it passes to note. left becomes negative if the body has more.
func body(p decode.Setting, left *int, levels int, note func(decode.Setting, string)) (any, bool) {
	if *left--; levels == 0 {
		*left = -1
	}
	switch {
	case *left < 0:
		return nil, false
	case p.IsNull():
		return nil, true
	case p.Node.Kind == yaml.SequenceNode:
		items, ok := p.List()
		list := make([]any, len(items))
		for i := 0; i < len(items) && ok; i++ {
			list[i], ok = body(items[i], left, levels-1, note)
		}
		return list, ok
	case p.Node.Kind == yaml.MappingNode:
		entries, ok := p.Entries()
		object := make(map[string]any, len(entries))
		for _, e := range entries {
			value, valueOK := body(e.Value, left, levels-1, note)
			object[e.Name], ok = value, ok && valueOK
		}
		return object, ok
	}
	text, ok := p.Text()
	if !ok {
		return nil, false
	}
	switch p.Node.Tag {
	case "!!bool":
		if is := strings.EqualFold(text, "true"); is || strings.EqualFold(text, "false") {
			return is, true
		}
	case "!!int", "!!float":
		var number json.Number
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.UseNumber()
		if decoder.Decode(&number) == nil && number.String() == text {
			return number, true
		}
		p.Problem("not a valid JSON number", "Write it in decimal, or quote it to make it a text")
		return nil, false
	}
	note(p, text)
	return text, true
}
