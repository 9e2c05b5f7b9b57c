package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	integerForm  = regexp.MustCompile(`^-?[0-9]+$`)
	decimalForm  = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	dateForm     = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`)
	datetimeForm = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?$`)
)

// Bind converts one JSON value to the value for a query. A relative date remains a Relative, whose limits are not
// checked. zone is that of the report.
func (p Parameter) Bind(raw json.RawMessage, zone string) (any, *Mistake) {
	raw = bytes.TrimSpace(raw)
	if string(raw) == "null" {
		if p.Optional() {
			return nil, nil
		}
		return nil, &Mistake{"null", "Give " + p.wanted()}
	}
	if !p.List {
		return p.one(raw, zone)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, &Mistake{"not a list", "Give " + p.wanted()}
	}
	values := make([]any, len(items))
	for i, item := range items {
		value, wrong := p.one(bytes.TrimSpace(item), zone)
		if wrong != nil {
			return nil, inElement(i, wrong)
		}
		values[i] = value
	}
	return values, nil
}

// inElement returns the mistake of a list for that of an element.
func inElement(i int, wrong *Mistake) *Mistake {
	return &Mistake{"a list whose element " + strconv.Itoa(i+1) + " is " + wrong.Message, wrong.Remedy}
}

// one converts a JSON scalar to a value that the parameter may have.
func (p Parameter) one(raw []byte, zone string) (any, *Mistake) {
	value, wrong := p.typed(raw)
	if _, later := value.(Relative); !later && wrong == nil {
		wrong = p.limit(value, zone)
	}
	return value, wrong
}

// typed converts a JSON scalar to a value of the parameter's type.
func (p Parameter) typed(raw []byte) (any, *Mistake) {
	var decoded any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a float64 would lose digits
	if err := decoder.Decode(&decoded); err != nil {
		return nil, &Mistake{"not JSON", "Give " + p.element()}
	}
	text, isString := decoded.(string)
	wrong := &Mistake{"not " + p.Type.noun() + p.Type.reason(text), "Give " + p.element()}
	number, isNumber := decoded.(json.Number)
	if isNumber {
		text = number.String()
	}
	if isString && (p.Type == ParamDate || p.Type == ParamDatetime) && isRelative(text, p.Type) {
		return Relative(text), nil
	}
	switch p.Type {
	case ParamString:
		if isString {
			return text, nil
		}
	case ParamBoolean:
		if b, ok := decoded.(bool); ok {
			return b, nil
		}
	case ParamInteger:
		if (isString || isNumber) && integerForm.MatchString(text) {
			return integerValue(text)
		}
	case ParamDecimal:
		if (isString || isNumber) && decimalForm.MatchString(text) {
			return text, nil
		}
	case ParamDate:
		if _, err := time.Parse(time.DateOnly, text); isString && err == nil {
			return text, nil
		}
	case ParamDatetime:
		if form := datetimeForm.FindStringSubmatch(text); isString && form != nil {
			return datetimeValue(form, wrong)
		}
	}
	return nil, wrong
}

// decode converts a decoded value of Report.Canonical to the value for a query.
func (p Parameter) decode(value any) (bound any, ok bool) {
	if value == nil {
		return nil, p.Optional()
	}
	if !p.List {
		return p.decodeOne(value)
	}
	list, ok := value.([]any)
	for i := range list {
		if list[i], ok = p.decodeOne(list[i]); !ok {
			return nil, false
		}
	}
	return list, ok
}

func (p Parameter) decodeOne(value any) (bound any, ok bool) {
	switch v := value.(type) {
	case json.Number:
		n, wrong := integerValue(v.String())
		return n, wrong == nil && p.Type == ParamInteger
	case bool:
		return v, p.Type == ParamBoolean
	case string:
		if p.Type != ParamDatetime || !strings.Contains(v, "T") {
			return v, p.Type != ParamInteger && p.Type != ParamBoolean
		}
		at, err := time.Parse(time.RFC3339Nano, v)
		return at, err == nil
	}
	return nil, false
}

// datetimeValue returns the datetime that datetimeForm has found: with an offset a time.Time in UTC,
// otherwise a text.
func datetimeValue(form []string, wrong *Mistake) (any, *Mistake) {
	date, clock, fraction, offset := form[1], form[2], form[3], form[4]
	if offset == "" {
		if _, err := time.Parse(time.DateTime, date+" "+clock); err != nil {
			return nil, wrong
		}
		return date + " " + clock + fraction, nil
	}
	at, err := time.Parse(time.RFC3339Nano, date+"T"+clock+fraction+offset)
	if err != nil {
		return nil, wrong
	}
	// In every zone the year has four digits, as databases need.
	if at = at.UTC(); at.Year() < minYear || at.Year() > maxYear {
		return nil, &Mistake{"a datetime with an offset in the year " + strconv.Itoa(at.Year()),
			fmt.Sprintf("Give one in the years %d to %d", minYear, maxYear)}
	}
	return at, nil
}

// Years of a datetime with an offset.
const (
	minYear = 1000
	maxYear = 9998
)

// integerValue returns an int64, or a uint64 for larger numbers.
func integerValue(text string) (any, *Mistake) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	return nil, &Mistake{"an integer of more than 64 bits",
		"Give one from -9223372036854775808 to 18446744073709551615"}
}

func (t ParameterType) noun() string {
	switch t {
	case ParamString:
		return "a string"
	case ParamInteger:
		return "an integer"
	}
	return "a " + string(t)
}

// reason says why a text that looks like a date is none; empty: it does not look like one.
func (t ParameterType) reason(text string) string {
	relative, day := relativeForm.FindStringSubmatch(text), dateForm.FindString(text)
	_, err := time.Parse(time.DateOnly, day)
	switch {
	case t != ParamDate && t != ParamDatetime:
		return ""
	case relative != nil && relative[1] == "now" && t == ParamDate:
		return ", because now is a time, for a parameter of type datetime"
	case relative != nil && relative[1] == "today" && relative[3] == "":
		return ", because the number has no unit: d for days or w for weeks"
	case relative != nil && relative[1] == "now" && relative[3] == "":
		return ", because the number has no unit: h for hours or m for minutes"
	case relative != nil:
		return ", because " + relative[1] + " does not take that number or unit"
	case day != "" && err != nil:
		return ", because there is no such day"
	}
	return ""
}

// wanted describes the valid values, for messages.
func (p Parameter) wanted() string {
	if p.List {
		return "a list, each element " + p.element()
	}
	return p.element()
}

// element describes a valid value, or of a list a valid element.
func (p Parameter) element() string {
	text := p.Type.wanted()
	switch {
	case len(p.Options) > 0:
		return "one of " + Listing(p.Options)
	case p.Minimum != "" && p.Maximum != "":
		return text + ", from " + p.Minimum + " to " + p.Maximum
	case p.Minimum != "":
		return text + ", at least " + p.Minimum
	case p.Maximum != "":
		return text + ", at most " + p.Maximum
	case p.Pattern.String() != "":
		return text + " that matches " + p.Pattern.String()
	}
	return text
}

// wanted describes the JSON of a valid value.
func (t ParameterType) wanted() string {
	return map[ParameterType]string{
		ParamString:  "a string",
		ParamInteger: "a whole number, or a string of its digits",
		ParamDecimal: "a number, or a string of it such as \"12.50\"",
		ParamBoolean: "true or false",
		ParamDate:    "a string such as \"2006-01-02\" or \"today-30d\"",
		ParamDatetime: "a string such as \"2006-01-02 15:04:05\", with an offset \"2006-01-02T15:04:05+02:00\", or " +
			"\"now-6h\"",
	}[t]
}
