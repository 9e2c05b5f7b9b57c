package config

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// checkDivided proves that the listeners with divide can be read in parts. It needs the stages.
func checkDivided(d *draft) {
	external := 0 // the last stage with a listener whose service can read the rows of those before
	stages := map[string]int{}
	for stage, l := range d.Report.Listeners() {
		stages[l.Name] = stage
		if l.Kind == report.External {
			external = stage
		}
	}
	for _, l := range d.listeners {
		if l.Divide == nil {
			continue
		}
		s := d.Of(l.Divide)
		l.Divide.Line = s.Line
		if s.Has("by") {
			l.gives(l.Divide.By, s.Get("by"), "")
		}
		switch {
		case !d.Of(&d.checker.f.Spool).Given():
			s.Problem("the parts of a listener lie in the spool, and there is none",
				"Add spool, with the URL of a directory or bucket, or remove divide")
		case l.From != nil:
			at := l.Uses[slices.IndexFunc(l.Uses, func(u kind.Use) bool { return u.Name == l.From.String() })].At
			at.Problem(fmt.Sprintf("the query uses :%s: one with values of another listener is not read in parts", l.From),
				"Remove divide")
		case stages[l.Name] < external:
			s.Problem("an external service of a later stage reads its rows: they lie in Redis", "Remove divide")
		}
	}
}
