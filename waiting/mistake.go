package waiting

import (
	"cmp"
	"slices"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/languages"
)

// maxOptions is the maximum number of allowed values that a page lists.
const maxOptions = 20

// mistaken says which parameters of a record cannot be used and what to change, without their values; nil: none.
// To run such a record again does not help.
func mistaken(in *languages.Language, f facts, of *report.Report) []string {
	if of == nil {
		return nil
	}
	var says []string
	for _, m := range of.Mistakes(f.Parameters, f.Now) {
		says = append(says, Wrong(in, of, m))
	}
	if len(says) == 0 {
		return nil
	}
	return append(append([]string{in.Say("mistake")}, says...), in.Say("mistake.again"))
}

// Wrong says what is wrong with a parameter and what to change, without its value.
func Wrong(in *languages.Language, of *report.Report, m report.ParameterMistake) string {
	i := slices.IndexFunc(of.Parameters, func(p report.Parameter) bool { return p.Name == m.Name })
	if i < 0 {
		return in.Say("mistake.unknown", "name", report.Shorten(m.Name))
	}
	key := "mistake.value"
	if m.Value == nil {
		key = "mistake.missing"
	}
	name := cmp.Or(of.Parameters[i].Description, report.Shorten(m.Name))
	return in.Say(key, "name", name) + in.Say("space") + Give(in, of.Parameters[i])
}

// Give says which values a parameter may have.
func Give(in *languages.Language, p report.Parameter) string {
	if n := len(p.Options); n > 0 {
		options := slices.Clone(p.Options[:min(n, maxOptions)])
		if n > maxOptions {
			options = append(options, "…")
		}
		return in.Say("give.options", "options", in.List(options))
	}
	text := in.Say("give." + string(p.Type))
	if p.Pattern.String() != "" {
		text = in.Say("give.pattern")
	}
	if p.Minimum != "" {
		text += in.Say("space") + in.Say("give.minimum", "minimum", p.Minimum)
	}
	if p.Maximum != "" {
		text += in.Say("space") + in.Say("give.maximum", "maximum", p.Maximum)
	}
	return text
}
