package fold

import (
	"sync"

	"github.com/fanfold/fanfold/report"
)

// Plans keep the plans of one report: one whose job is done serves the next job, if its datasets have the same columns
// and the SELECT has no parameters. It is safe for concurrent use.
type Plans struct{ idle sync.Pool }

// Get does what NewPlan does. The plan can be given back with Put.
func (p *Plans) Get(r *report.Report, datasets map[string]Dataset, parameters map[string]any) (*Plan, error) {
	if plan, ok := p.idle.Get().(*Plan); ok && plan.query.Over(datasets) {
		return plan, nil
	}
	return NewPlan(r, datasets, parameters)
}

// Put takes a plan that is not used any more.
func (p *Plans) Put(plan *Plan) {
	plan.query.Leave()
	p.idle.Put(plan)
}
