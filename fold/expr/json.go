package expr

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/report"
)

// quotedName is the name of a member in a path of MariaDB, which RFC 9535 puts into brackets.
var quotedName = regexp.MustCompile(`\."((?:[^"\\]|\\.)*)"`)

// jsonValue returns the scalar at a path of a document, as a text; NULL if there is none.
func jsonValue(c *call) *Expr {
	v, ok := constantOf(c.args[1])
	if !ok || v.IsNull() {
		refuse(c.Args[1].Pos(), "not a constant path", "Write the path as a text, such as '$.user.id'")
	}
	path, wrong := report.ParseJSONPath(quotedName.ReplaceAllString(string(textOf(v, c.args[1])), `["$1"]`))
	if wrong != nil {
		refuse(c.Args[1].Pos(), "the path is "+wrong.Message,
			`Write names and indexes from 0, such as $.user.id, $.rows[0] or $."first name"`)
	}
	return texts(typeOfText(c.args[:1]...), c.args[:1], func(all [][]byte) (value.Value, error) {
		decoder := json.NewDecoder(bytes.NewReader(knownEscapes(all[0])))
		decoder.UseNumber()
		found, ok, _ := scalarAt(decoder, path.Steps())
		if !ok {
			return value.Value{}, nil
		}
		switch found := found.(type) {
		case string:
			return value.OfText([]byte(found)), nil
		case json.Number:
			return value.OfText([]byte(found.String())), nil
		case bool:
			return value.OfText([]byte(map[bool]string{true: "1", false: "0"}[found])), nil
		}
		return value.Value{}, nil
	})
}

// scalarAt returns the first scalar at a path, from the next value on. As in MariaDB, a name that comes twice has two
// values, what is no array is the first element of one, and what comes after the scalar may be wrong.
func scalarAt(d *json.Decoder, steps []report.JSONStep) (found any, ok bool, err error) {
	token, err := d.Token()
	if err != nil {
		return nil, false, err
	}
	for len(steps) > 0 && steps[0].Index == 0 && token != json.Delim('[') {
		steps = steps[1:]
	}
	if _, nested := token.(json.Delim); !nested {
		return token, len(steps) == 0, nil
	}
	for n := 0; d.More(); n++ {
		step := report.JSONStep{Index: n}
		if token == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return nil, false, err
			}
			step.Name, step.Index = name.(string), -1
		}
		if len(steps) > 0 && step == steps[0] {
			found, ok, err = scalarAt(d, steps[1:])
		} else {
			err = d.Decode(new(json.RawMessage))
		}
		if ok || err != nil {
			return found, ok, err
		}
	}
	_, err = d.Token()
	return nil, false, err
}

// knownEscapes removes backslashes that mean nothing in JSON: as in MariaDB, "\s" is "s".
func knownEscapes(document []byte) []byte {
	var out []byte
	inText, from := false, 0
	for i := 0; i < len(document); i++ {
		switch {
		case document[i] == '"':
			inText = !inText
		case inText && document[i] == '\\' && i+1 < len(document):
			if bytes.IndexByte([]byte(`"\/bfnrtu`), document[i+1]) < 0 {
				out, from = append(out, document[from:i]...), i+1
			}
			i++
		}
	}
	if from == 0 {
		return document
	}
	return append(out, document[from:]...)
}
