package fold

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Steps says, one step a line, how the fold of a valid report runs. It needs no datasets. The error is a *parse.Error.
func Steps(r *report.Report) (steps []string, err error) {
	if r.Fold == "" {
		for i, l := range r.Join.Listeners {
			if i == 0 {
				steps = append(steps, "read "+l.Listener)
				continue
			}
			steps = append(steps, fmt.Sprintf("%s join %s on %s", l.Type, l.Listener, strings.Join(l.Keys, ", ")))
		}
		return steps, nil
	}
	plan, err := NamesOf(r, Parameters(r.Parameters, nil))
	if err != nil {
		return nil, err
	}
	return plan.Explain(), nil
}
