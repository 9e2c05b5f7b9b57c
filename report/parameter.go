package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Parameter is a value that the record gives and that queries use as :name.
type Parameter struct {
	Name string `key:"parameter"`
	// Type of the value
	Type ParameterType `yaml:"type" short:"" default:"string"`
	// `true`: the value is an array, for `IN (:name)`
	List bool `yaml:"list" default:"false"`
	// Value if the record passes none; `null` makes the parameter optional, and then it is NULL
	Default *string `yaml:"default" raw:"" unset:"the record must pass a value"` // its JSON; nil: none
}

// Optional tells whether the value can be null.
func (p Parameter) Optional() bool { return p.Default != nil && *p.Default == "null" }

// ParameterType is the type that a parameter's value must have.
type ParameterType string

// The types of a parameter and the JSON that a record gives for them.
const (
	ParamString   ParameterType = "string"   // any JSON string
	ParamInteger  ParameterType = "integer"  // JSON number or string of digits, 64 bits
	ParamDecimal  ParameterType = "decimal"  // JSON number or numeric string, bound as its text
	ParamBoolean  ParameterType = "boolean"  // true or false
	ParamDate     ParameterType = "date"     // "2006-01-02"
	ParamDatetime ParameterType = "datetime" // "2006-01-02 15:04:05[.ffffff]", "T" allowed
)

// ParameterTypes are all of them.
var ParameterTypes = []ParameterType{ParamString, ParamInteger, ParamDecimal, ParamBoolean, ParamDate, ParamDatetime}

// FromTexts is what the texts of a command line or a form say, as a record would say it: one text,
// or for a list one for each value, or one JSON array. Texts are right for every type but the
// booleans: numbers may be strings.
func (p Parameter) FromTexts(texts []string) json.RawMessage {
	if whole := []byte(texts[0]); p.List && len(texts) == 1 && strings.HasPrefix(texts[0], "[") && json.Valid(whole) {
		return whole
	}
	items := make([]any, len(texts))
	for i, text := range texts {
		items[i] = text
		if p.Type == ParamBoolean && (text == "true" || text == "false") {
			items[i] = text == "true"
		}
	}
	if p.List {
		return EncodeBound(items)
	}
	return EncodeBound(items[0])
}

// ErrParameters is matched by every error of Bind and Canonical: the record's
// parameters are not what the report needs, and never will be.
var ErrParameters = errors.New("report: parameters")

// Bind turns the parameters of a record, a JSON object, into the values that
// queries get: string, int64, uint64 (above the int64s), bool, nil, or []any of
// these for a list. Decimals and dates stay strings. Nothing at all is an empty
// object. Every declared parameter is in the result, with its default where the
// record gives none; null is a value only where null is the default.
//
// The error matches ErrParameters and names everything that is wrong: each
// parameter with its value and the remedy, unknown names too.
func (r *Report) Bind(raw []byte) (map[string]any, error) {
	given, err := ParameterFields(raw)
	if err != nil {
		return nil, err
	}
	for _, p := range r.Parameters {
		if _, ok := given[p.Name]; !ok && p.Default != nil {
			given[p.Name] = json.RawMessage(*p.Default)
		}
	}
	values, wrong := r.Check(given)
	if len(wrong) > 0 {
		texts := make([]string, len(wrong))
		for i, m := range wrong {
			texts[i] = m.Error()
		}
		return nil, fmt.Errorf("%w: %s", ErrParameters, strings.Join(texts, "; "))
	}
	return values, nil
}

// ParameterMistake is what is wrong with one parameter.
type ParameterMistake struct {
	Name string
	// Value is what is given, as JSON; nil: nothing is.
	Value json.RawMessage
	// Unknown says that the report has no parameter of this name.
	Unknown bool
	Mistake
}

// Error says all of it in one line.
func (m *ParameterMistake) Error() string {
	value := ""
	if m.Value != nil && !m.Unknown {
		value = " (value " + Shorten(string(m.Value)) + ")"
	}
	return fmt.Sprintf("%s is %s%s: %s", Shorten(m.Name), m.Message, value, lowerFirst(m.Remedy))
}

// Check turns those parameters that are given into values, as Bind does, without the defaults
// of others. Wrong is everything that is wrong, in the order of the report; unknown names are
// the last.
func (r *Report) Check(given map[string]json.RawMessage) (values map[string]any, wrong []ParameterMistake) {
	values = make(map[string]any, len(r.Parameters))
	known := 0
	for _, p := range r.Parameters {
		text, ok := given[p.Name]
		if !ok && p.Default == nil {
			wrong = append(wrong, ParameterMistake{Name: p.Name, Mistake: Mistake{"missing", "Give " + p.wanted()}})
		}
		if !ok {
			continue
		}
		known++
		value, fault := p.Bind(text)
		if fault != nil {
			wrong = append(wrong, ParameterMistake{Name: p.Name, Value: text, Mistake: *fault})
			continue
		}
		values[p.Name] = value
	}
	if known == len(given) {
		return values, wrong
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(r.Parameters, func(p Parameter) bool { return p.Name == name }) {
			wrong = append(wrong, ParameterMistake{name, given[name], true, Mistake{"not known", "The report has " + r.ParameterList()}})
		}
	}
	return values, wrong
}

// Canonical returns the parameters as JSON with defaults applied and keys
// sorted, for the state of a job: Bind gives the same for it as for raw, and
// Canonical of it is itself. The errors are those of Bind.
func (r *Report) Canonical(raw []byte) ([]byte, error) {
	values, err := r.Bind(raw)
	if err != nil {
		return nil, err
	}
	return EncodeBound(values), nil
}

// ParameterList lists the names of the parameters for a message.
func (r *Report) ParameterList() string {
	if len(r.Parameters) == 0 {
		return "no parameters"
	}
	names := make([]string, len(r.Parameters))
	for i, p := range r.Parameters {
		names[i] = p.Name
	}
	return Listing(names)
}

// ParameterFields takes parameters apart, a JSON object; nothing at all is an empty one. Other
// than encoding/json alone it refuses a name that is given twice, and anything after the object.
// The error matches ErrParameters.
func ParameterFields(raw []byte) (map[string]json.RawMessage, error) {
	fields, err := jsonFields(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParameters, err)
	}
	return fields, nil
}

func jsonFields(raw []byte) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if text := bytes.TrimSpace(raw); len(text) == 0 || string(text) == "{}" {
		return fields, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object (value %s): write {\"name\": value}", Shorten(string(raw)))
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("not a JSON object: %w", err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("not a JSON object: %w", err)
		}
		key, _ := name.(string) // the decoder gives no other token here
		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("%s is given twice: remove one of them", Shorten(key))
		}
		fields[key] = value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected text after the JSON object: remove it")
	}
	return fields, nil
}

// EncodeBound writes bound values as JSON. They are plain values, so it cannot
// fail.
func EncodeBound(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("report: encode a bound value: %v", err))
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func lowerFirst(text string) string {
	if text == "" {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}
