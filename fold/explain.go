package fold

import (
	"github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/report"
)

// Step is what a fold does at one point, and what it did there in its last run.
type Step = query.Step

// Steps says how the fold of a valid report runs. It needs no datasets. The error is parse.Errors.
func Steps(r *report.Report) ([]Step, error) {
	plan, err := NamesOf(r, Parameters(r.Parameters, nil))
	if err != nil {
		return nil, err
	}
	return plan.Steps(), nil
}
