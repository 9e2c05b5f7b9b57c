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
	"time"
)

// Parameter is a value that a record passes and that queries use as :name. What limits its values has no JSON,
// because it is not part of the definition's hash.
type Parameter struct {
	Name string `key:"parameter"`
	// Type of the value
	Type ParameterType `yaml:"type" short:"" default:"string"`
	// `true`: the value is an array, for `IN (:name)`
	List bool `yaml:"list" default:"false"`
	// Value if the record passes none; `null` makes the parameter optional, and then it is NULL
	Default *string `yaml:"default" raw:"" unset:"the record must pass a value"` // its JSON; nil if none
	// What the value means, for people and `GET /reports`. The waiting page shows only parameters that have one
	Description string `yaml:"description" json:"-"`
	// Allowed values, of a string, integer, decimal or date
	Options []string `yaml:"options" min:"1" unset:"any" json:"-"`
	// Minimum of an integer, decimal, date or datetime
	Minimum string `yaml:"minimum" unset:"none" json:"-"`
	// Maximum of an integer, decimal, date or datetime
	Maximum string `yaml:"maximum" unset:"none" json:"-"`
	// [Regular expression](https://pkg.go.dev/regexp/syntax) that the whole of a string must match
	Pattern Expression `yaml:"pattern" unset:"any" json:"-"`
}

// Optional reports whether the value can be null.
func (p Parameter) Optional() bool { return p.Default != nil && *p.Default == "null" }

// ParameterType is the type that a parameter's value must have.
type ParameterType string

// The types of a parameter, with the JSON that a record passes for them.
const (
	ParamString  ParameterType = "string"  // any JSON string
	ParamInteger ParameterType = "integer" // JSON number or string of digits, 64 bits
	ParamDecimal ParameterType = "decimal" // JSON number or numeric string, bound as its text
	ParamBoolean ParameterType = "boolean" // true or false
	ParamDate    ParameterType = "date"    // "2006-01-02"
	// "2006-01-02 15:04:05[.ffffff]", "T" allowed; with Z or an offset such as +02:00 an instant
	ParamDatetime ParameterType = "datetime"
)

// ParameterTypes are all of them.
var ParameterTypes = []ParameterType{ParamString, ParamInteger, ParamDecimal, ParamBoolean, ParamDate, ParamDatetime}

// FromTexts converts the texts of a command line or a form to the JSON of a record: one text,
// or for a list one text per value or one JSON array. Numbers stay strings, which records may
// pass, too; booleans are converted.
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

// ErrParameters matches every error of Bind and Canonical: the parameters of the record
// are not valid for the report. The error is permanent.
var ErrParameters = errors.New("parameters")

// Bind converts the parameters of a record, a JSON object, to the values for
// queries: string, int64, uint64 (above the int64s), bool, nil, a time.Time in UTC
// for a datetime with an offset, or []any of these for a list. Decimals, dates and
// other datetimes stay strings. An empty text is an empty
// object. The result has every declared parameter, with its default if the
// record passes none. null is a value only if it is the default. Relative dates are computed for now, in
// the time zone of the report; a relative datetime is a time.Time in UTC.
//
// The error matches ErrParameters and names every wrong or unknown parameter with
// its value and the remedy.
func (r *Report) Bind(raw []byte, now time.Time) (map[string]any, error) {
	values, wrong, err := r.bind(raw, now)
	if err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		texts := make([]string, len(wrong))
		for i, m := range wrong {
			texts[i] = m.Error()
		}
		return nil, fmt.Errorf("%w: %s", ErrParameters, strings.Join(texts, "; "))
	}
	return values, nil
}

// Mistakes returns what is wrong with the parameters of a record, in the order of Check; none if Bind
// accepts them, or if they are not a JSON object.
func (r *Report) Mistakes(raw []byte, now time.Time) []ParameterMistake {
	_, wrong, _ := r.bind(raw, now)
	return wrong
}

// bind converts parameters, with their defaults.
func (r *Report) bind(raw []byte, now time.Time) (map[string]any, []ParameterMistake, error) {
	given, err := ParameterFields(raw)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range r.Parameters {
		if _, ok := given[p.Name]; !ok && p.Default != nil {
			given[p.Name] = json.RawMessage(*p.Default)
		}
	}
	values, wrong := r.Check(given, now)
	for _, p := range r.Parameters {
		values[p.Name], _ = p.compute(values[p.Name], now, r.TimeZone) // Check has proven that it is allowed
	}
	return values, wrong, nil
}

// ParameterMistake is what is wrong with one parameter.
type ParameterMistake struct {
	Name string
	// Value is the JSON of the value; nil if there is none.
	Value json.RawMessage
	// Unknown is set if the report has no parameter of this name.
	Unknown bool
	Mistake
}

// Error returns the mistake in one line.
func (m *ParameterMistake) Error() string {
	value := ""
	if m.Value != nil && !m.Unknown {
		value = " (value " + Shorten(string(m.Value)) + ")"
	}
	return fmt.Sprintf("%s is %s%s: %s", Shorten(m.Name), m.Message, value, lowerFirst(m.Remedy))
}

// Check converts the given parameters to values, like Bind, but sets no defaults, and leaves relative dates as
// they are, of type Relative, for the record. wrong has every mistake in the order of the report, then the
// unknown names.
func (r *Report) Check(
	given map[string]json.RawMessage, now time.Time,
) (values map[string]any, wrong []ParameterMistake) {
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
		value, fault := p.Bind(text, r.TimeZone)
		if fault == nil {
			_, fault = p.compute(value, now, r.TimeZone)
		}
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
			wrong = append(wrong, ParameterMistake{name, given[name], true,
				Mistake{"not known", "The report has " + r.ParameterList()}})
		}
	}
	return values, wrong
}

// Canonical returns the parameters as JSON with defaults applied and keys
// sorted, for the state of a job. Bind returns the same values for it as for raw, at any time, and
// Canonical does not change it. The errors are those of Bind.
func (r *Report) Canonical(raw []byte, now time.Time) ([]byte, error) {
	values, err := r.Bind(raw, now)
	if err != nil {
		return nil, err
	}
	return EncodeBound(values), nil
}

// Decode returns the values that Canonical has encoded, which are those of Bind. An error, which matches
// ErrParameters, means that another program has changed them.
func (r *Report) Decode(canonical []byte) (map[string]any, error) {
	values := make(map[string]any, len(r.Parameters))
	if len(r.Parameters) == 0 && string(canonical) == "{}" {
		return values, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(canonical))
	decoder.UseNumber() // a float64 would lose digits
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("%w: not a JSON object: %w", ErrParameters, err)
	} else if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: there is more after the JSON object", ErrParameters)
	}
	for _, p := range r.Parameters {
		value, ok := p.decode(values[p.Name])
		if !ok {
			return nil, fmt.Errorf("%w: %s is missing or is not %s", ErrParameters, p.Name, p.Type.noun())
		}
		values[p.Name] = value
	}
	return values, nil
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

// ParameterFields splits parameters, a JSON object, into its members; an empty text is an empty
// object. Unlike encoding/json, it rejects duplicate names and text after the object. The error
// matches ErrParameters.
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
		key, _ := name.(string) // the decoder returns no other token here
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

// EncodeBound returns the JSON of bound values. It cannot fail, because they are plain
// values.
func EncodeBound(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("encode a bound value: %v", err))
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func lowerFirst(text string) string {
	if text == "" {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}
