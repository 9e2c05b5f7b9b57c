package dashboard

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// input is the field of a parameter in the form that runs a report.
type input struct {
	report.Parameter
	ID    string // of the element, unique in the page
	Typed string // what a person has sent; the values of a list are lines
	Wrong string // what is wrong with it; empty: nothing
}

// Fields returns the fields of the form.
func (d definition) Fields() []input {
	var all []input
	for _, p := range d.Parameters {
		all = append(all, input{
			Parameter: p, ID: "p-" + d.Name + "-" + p.Name, Typed: d.Typed[p.Name], Wrong: d.Wrong[p.Name],
		})
	}
	return all
}

// Hint says in a few words which values the parameter takes.
func (i input) Hint() string {
	words := []string{string(i.Type)}
	if i.List && len(i.Options) > 0 {
		words = append(words, "one or more")
	} else if i.List {
		words = append(words, "one per line")
	}
	if i.Minimum != "" {
		words = append(words, "at least "+i.Minimum)
	}
	if i.Maximum != "" {
		words = append(words, "at most "+i.Maximum)
	}
	if pattern := i.Pattern.String(); pattern != "" {
		words = append(words, "matches "+pattern)
	}
	if i.Optional() {
		words = append(words, "optional")
	} else if i.Default != nil {
		words = append(words, "default "+*i.Default)
	}
	return strings.Join(words, ", ")
}

// Choices are the values of a parameter with options; those of a boolean are true and false.
func (i input) Choices() []string {
	if i.Type == report.ParamBoolean && !i.List {
		return []string{"true", "false"}
	}
	return i.Options
}

// Chosen reports whether a person has chosen a value.
func (i input) Chosen(value string) bool { return slices.Contains(strings.Split(i.Typed, "\n"), value) }

// DescribedBy are the ids of the elements that explain the field, with spaces between them.
func (i input) DescribedBy() string {
	var ids []string
	if i.Description != "" {
		ids = append(ids, "d-"+i.ID)
	}
	if i.Wrong != "" {
		ids = append(ids, "w-"+i.ID)
	}
	return strings.Join(ids, " ")
}
