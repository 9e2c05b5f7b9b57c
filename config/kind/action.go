package kind

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// Action is a kind of action of a timer.
type Action struct {
	Name string // field of a timer that contains the own fields
	Doc  string // describes that field
	Form string // for remedies, such as "submit: {report: …}"
	// Fields returns a pointer to a new struct with the tags of config/decode: the own fields, which
	// become the timer's Own.
	Fields func() any
	// Check validates the own fields of a timer, and records the problems.
	Check func(t *Timer)
	// Records: it inserts records, and needs the table of firings.
	Records bool
}

// Timer is a timer whose action a kind checks.
type Timer struct {
	*report.Timer                 // Own has the fields of the action
	decode.Section                // the places of these fields
	Reader         *decode.Reader // has the places of the fields of the reports
	KeyValid       bool           // Key can be used
	Keys           report.Keys    // of Redis
	Reports        map[string]*report.Report
}

// CheckNames proves that the key has every {name} of a template.
func (t *Timer) CheckNames(at decode.Setting, template report.Template) {
	for _, name := range template.Names() {
		if known := t.Key.Names(); t.KeyValid && !slices.Contains(known, name) {
			at.Problem(fmt.Sprintf("unknown name {%s}: key has no such part", report.Shorten(name)),
				report.DidYouMean(name, known))
		}
	}
}

// CheckTemplates is CheckNames for a mapping of templates.
func (t *Timer) CheckTemplates(field string, templates map[string]report.Template) {
	for name, template := range templates {
		t.CheckNames(t.Get(field+"."+name), template)
	}
}
