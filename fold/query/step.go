package query

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/fold/op"
)

// Step is what a plan does at one point, and what it did there in its last run.
type Step struct {
	Text  string
	Depth int // of its query: 0 for the outermost one
	// Rows is the number of rows that it gave to the next step, the same in every run; -1: it did not run, or a LIMIT
	// ended it.
	Rows int64
	How  op.How // empty: there is only one way
}

// step is a Step in the making. A nil one does not exist.
type step struct {
	text  string
	depth int
	rows  int64
	how   op.How
	// from are the steps before it, if its rows are not known when theirs are not. It passes on as many rows as they
	// do, unless it counts them.
	from []*step
	// What the current run tells in its end:
	counts interface{ Rows() int64 } // nil: rows
	works  interface{ How() op.How } // nil: how
	limit  *op.Limit                 // of a LIMIT
	blocks bool                      // it takes all rows before it gives one
	sorts  bool                      // it is the order of the step after it, if that is a LIMIT
}

// begin makes the step one that has not run.
func (s *step) begin() { s.rows, s.how, s.counts, s.works, s.limit = -1, "", nil, nil, nil }

// cut makes the rows unknown of the steps before a LIMIT that has ended them: how many they gave depends on the memory.
// Those before a step that blocks have given all.
func (p *Plan) cut(limit int) {
	several := false
	for i, s := range slices.Backward(p.steps[:limit]) {
		if i == limit-1 && s.sorts {
			return // it gave as many as the LIMIT needs
		}
		s.rows = -1
		if s.blocks && !several {
			return
		}
		several = several || len(s.from) > 1
	}
}

// end keeps what a run tells. Those before the step have ended.
func (s *step) end() {
	if s.works != nil {
		s.how = s.works.How()
	}
	known, sum := true, int64(0)
	for _, before := range s.from {
		known, sum = known && before.rows >= 0, sum+before.rows
	}
	switch {
	case !known:
		s.rows = -1
	case s.counts != nil:
		s.rows = s.counts.Rows()
	case s.rows < 0 && s.from != nil:
		s.rows = sum
	}
	s.counts, s.works = nil, nil
}

// to returns an output that counts the rows which the step passes on.
func (s *step) to(to op.Output) op.Output {
	if s == nil {
		return to
	}
	count := &op.Count{Output: to}
	s.counts = count
	return count
}

// by notes the operator of the step. A filter counts its rows itself, because several goroutines use it.
func (s *step) by(o op.Output) op.Output {
	if s == nil {
		return o
	}
	if f, ok := o.(*op.Filter); ok {
		s.counts = f
	}
	s.works, _ = o.(interface{ How() op.How })
	return o
}

// Steps returns the steps in the order in which rows pass them, but those of a query in FROM come first.
func (p *Plan) Steps() []Step {
	all := make([]Step, len(p.steps))
	for i, s := range p.steps {
		all[i] = Step{s.text, s.depth, s.rows, s.how}
	}
	return all
}

// explain adds a step.
func (p *planner) explain(format string, args ...any) *step {
	s := &step{text: fmt.Sprintf(format, args...), depth: p.depth, rows: -1}
	p.plan.steps = append(p.plan.steps, s)
	return s
}

// lastStep returns the step that was added last. A query with a mistake may have none.
func (p *planner) lastStep() *step {
	if len(p.plan.steps) == 0 {
		return &step{}
	}
	return p.plan.steps[len(p.plan.steps)-1]
}
