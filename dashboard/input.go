package dashboard

import (
	"strings"

	"github.com/fanfold/fanfold/web/form"
)

// input is the field of a parameter in the form that runs a report.
type input struct{ form.Field }

// Fields returns the fields of the form.
func (d definition) Fields() []input {
	var all []input
	for _, f := range d.Sent.Fields(d.Report, "p-"+d.Name+"-") {
		all = append(all, input{f})
	}
	return all
}

// Wrong is what is wrong with the value; empty: nothing.
func (i input) Wrong() string {
	if i.Mistake == nil {
		return ""
	}
	return i.Mistake.Error()
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

// DescribedBy are the ids of the elements that explain the field, with spaces between them.
func (i input) DescribedBy() string {
	var ids []string
	if i.Description != "" {
		ids = append(ids, "d-"+i.ID)
	}
	if i.Mistake != nil {
		ids = append(ids, "w-"+i.ID)
	}
	return strings.Join(ids, " ")
}
