package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// limits are the fields that limit the values of a parameter, with the types that can have them.
var limits = []struct {
	field string
	types []report.ParameterType
}{
	{"options", []report.ParameterType{report.ParamString, report.ParamInteger, report.ParamDecimal, report.ParamDate}},
	{"minimum", ordered},
	{"maximum", ordered},
	{"pattern", []report.ParameterType{report.ParamString}},
}

var ordered = []report.ParameterType{report.ParamInteger, report.ParamDecimal, report.ParamDate, report.ParamDatetime}

// checkParameter checks what limits the values of a parameter, and its default. zone is that of the report.
func (k *checker) checkParameter(p *report.Parameter, zone string) {
	s := k.Of(p)
	if s.Wrong("type") {
		return
	}
	allowed := report.Parameter{Type: p.Type, List: p.List}
	if !s.Wrong() && checkLimits(s, *p, zone) {
		allowed = *p
	} else { // so that the values that use it do not repeat the problem
		p.Options, p.Minimum, p.Maximum, p.Pattern = nil, "", "", allowed.Pattern
	}
	checkDefault(s, p, allowed, zone)
}

// checkLimits returns false if a limit is wrong.
func checkLimits(s decode.Section, p report.Parameter, zone string) bool {
	ok := true
	for _, limit := range limits {
		if at := s.Get(limit.field); at.Given() && !slices.Contains(limit.types, p.Type) {
			at.Problem(fmt.Sprintf("a parameter of type %s has no %s", p.Type, limit.field),
				"Remove it, or use the type "+strings.Join(texts(limit.types), ", "))
			ok = false
		}
	}
	if !ok {
		return false
	}
	one := report.Parameter{Type: p.Type}
	if at := s.Get("minimum"); at.Given() {
		ok = isAllowed(at, p.Minimum, one, zone)
	}
	if at := s.Get("maximum"); at.Given() {
		one.Minimum = ""
		if ok = isAllowed(at, p.Maximum, one, zone) && ok; !ok {
			return false
		}
		one.Minimum = p.Minimum
		if _, wrong := one.Bind(report.EncodeBound(p.Maximum), zone); wrong != nil {
			at.Problem("below the minimum "+p.Minimum, "Write at least "+p.Minimum)
			return false
		}
	}
	one.Minimum, one.Maximum, one.Pattern = p.Minimum, p.Maximum, p.Pattern
	for i, option := range p.Options {
		ok = ok && isAllowed(s.Get("options").Item(i), option, one, zone)
	}
	return ok
}

// isAllowed reports whether a limit is itself a value that a parameter may have, and records the problem if not.
func isAllowed(at decode.Setting, text string, of report.Parameter, zone string) bool {
	value, wrong := of.Bind(report.EncodeBound(text), zone)
	if _, relative := value.(report.Relative); relative {
		wrong = &report.Mistake{Message: "a relative date, which only a value or a default can be",
			Remedy: "Write the date itself, such as 2006-01-02"}
	}
	if wrong != nil {
		at.Problem(wrong.Message, wrong.Remedy)
	}
	return wrong == nil
}

// checkDefault reads the default of a parameter, which must be valid for it.
func checkDefault(s decode.Section, p *report.Parameter, allowed report.Parameter, zone string) {
	at := s.Raw("default")
	if !at.Given() {
		return
	}
	text := "null"
	if !at.IsNull() {
		raw, ok := parameterJSON(at, *p)
		if !ok {
			return
		}
		value, wrong := allowed.Bind(raw, zone)
		if wrong == nil && len(p.Options) > 0 && hasRelative(value) {
			wrong = relativeOption(*p)
		}
		if wrong != nil {
			at.Problem(wrong.Message, wrong.Remedy)
			return
		}
		text = string(report.EncodeBound(value))
	}
	p.Default = &text
}

// relativeOption is the mistake of a relative date for a parameter with options.
func relativeOption(p report.Parameter) *report.Mistake {
	return &report.Mistake{Message: "a relative date, which is not always one of the options",
		Remedy: "Write one of " + report.Listing(p.Options)}
}

// hasRelative reports whether a value, or an item of it, is a relative date.
func hasRelative(value any) bool {
	list, _ := value.([]any)
	_, relative := value.(report.Relative)
	return relative || slices.ContainsFunc(list, hasRelative)
}

// parameterJSON converts YAML to the JSON that a record would pass.
func parameterJSON(p decode.Setting, parameter report.Parameter) (json.RawMessage, bool) {
	if !parameter.List {
		text, ok := p.Text()
		if parameter.Type == report.ParamBoolean && (text == "true" || text == "false") {
			return json.RawMessage(text), ok
		}
		return report.EncodeBound(text), ok
	}
	items, ok := p.List()
	parameter.List = false
	parts := make([]string, len(items))
	for i, item := range items {
		raw, itemOK := parameterJSON(item, parameter)
		parts[i], ok = string(raw), ok && itemOK
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]"), ok
}
