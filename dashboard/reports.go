package dashboard

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// definition is a report on the page of reports.
type definition struct {
	*report.Report
	Name    string
	Plan    *picture // nil: none
	Paused  bool
	Running int
	Wrong   map[string]string // what is wrong with the values of its form, by parameter
	Typed   map[string]string // the values of its form, by parameter
}

func (l listPages) reports(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	return "Reports", l.definitions(s, &wrongForm{}), nil
}

// definitions returns all reports, one of them with a form that was sent.
func (l listPages) definitions(s *sample, form *wrongForm) []definition {
	running := map[string]int{}
	for _, j := range s.Jobs {
		running[j.Report]++
	}
	var all []definition
	for _, name := range slices.Sorted(maps.Keys(l.o.Inspect.Config.Reports)) {
		one := definition{
			Report: l.o.Inspect.Config.Reports[name], Name: name, Running: running[name], Plan: l.plans[name],
			Paused: slices.ContainsFunc(s.Pauses, func(p inspect.Pause) bool { return p.What == "report/"+name }),
		}
		if name == form.report {
			one.Wrong, one.Typed = form.wrong, form.typed
		}
		all = append(all, one)
	}
	return all
}
