package fold

import "github.com/fanfold/fanfold/report"

// Steps says, one step a line, how the fold of a valid report runs. It needs no datasets. The error is parse.Errors.
func Steps(r *report.Report) (steps []string, err error) {
	plan, err := NamesOf(r, Parameters(r.Parameters, nil))
	if err != nil {
		return nil, err
	}
	return plan.Explain(), nil
}
