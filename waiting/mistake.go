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
		name := report.Shorten(m.Name)
		i := slices.IndexFunc(of.Parameters, func(p report.Parameter) bool { return p.Name == m.Name })
		if i >= 0 {
			name = cmp.Or(of.Parameters[i].Description, name)
		}
		switch {
		case i < 0:
			says = append(says, in.Say("mistake.unknown", "name", name))
		case m.Value == nil:
			says = append(says, in.Say("mistake.missing", "name", name)+in.Say("space")+give(in, of.Parameters[i]))
		default:
			says = append(says, in.Say("mistake.value", "name", name)+in.Say("space")+give(in, of.Parameters[i]))
		}
	}
	if len(says) == 0 {
		return nil
	}
	return append(append([]string{in.Say("mistake")}, says...), in.Say("mistake.again"))
}

// give says which values a parameter may have.
func give(in *languages.Language, p report.Parameter) string {
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
