package query

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/report"
)

// Dataset is the result of a listener.
type Dataset = op.Dataset

// Plan is a query over datasets whose names and types are known. It is used by one goroutine at a time.
type Plan struct {
	root    *node
	columns []dataset.Column
	tables  []*table
	steps   []*step
	counted *selecting // the SELECT whose matches are counted; nil: none
	matches []op.Match
	bound   bool // it has the values of parameters
}

// node is a part of a plan that makes rows.
type node struct {
	columns []expr.Column
	last    *step // whose rows are those of the node
	run     func(m *op.Memory, to op.Output) error
}

// planner makes a Plan.
type planner struct {
	datasets   map[string]Dataset
	parameters expr.Parameters
	plan       *Plan
	depth      int
	last       *selecting // the one that was planned last
	mistakes   parse.Errors
}

// New returns the plan of a query over datasets, by the name of the listener. The error is parse.Errors with all
// mistakes, sorted by place.
func New(
	q *parse.Query, datasets map[string]Dataset, parameters expr.Parameters,
) (plan *Plan, err error) {
	p := &planner{datasets: datasets, plan: &Plan{}}
	p.parameters = func(name string) (expr.Parameter, bool) {
		p.plan.bound = true
		if parameters == nil {
			return expr.Parameter{}, false
		}
		return parameters(name)
	}
	p.plan.root = p.query(q)
	if p.mistakes != nil {
		return nil, p.mistakes.Sorted()
	}
	if b := p.last; len(q.Selects) == 1 && q.Selects[0].Sub == nil && (joined{b}).canCount(q.Limit) {
		p.plan.counted = b
	}
	for _, c := range p.plan.root.columns {
		column := c.Type.Column(c.Name)
		if c.Digits > 0 && column.Digits > 0 {
			column.Digits = c.Digits
		}
		p.plan.columns = append(p.plan.columns, column)
	}
	return p.plan, nil
}

// refuse ends a part of the planning with a mistake; planner.try recovers.
func refuse(at parse.Position, message, remedy string) { parse.Refuse(at, message, remedy) }

// must returns a result, or ends a part of the planning with its mistakes.
func must[T any](result T, err error) T { return parse.Must(result, err) }

// try plans a part. The planning goes on after a mistake in it, so that all are found; false: there is one.
func (p *planner) try(part func()) bool {
	err := func() (err error) {
		defer parse.Catch(&err)
		part()
		return nil
	}()
	if wrong, failed := err.(parse.Errors); failed {
		p.mistakes = append(p.mistakes, wrong...)
	}
	return err == nil
}

// Over makes the plan read other datasets. False: they have other columns, or the query has values of parameters, so
// that it must be planned again.
func (p *Plan) Over(datasets map[string]Dataset) bool {
	for _, t := range p.tables {
		if set := datasets[t.listener]; p.bound || set == nil || !slices.Equal(set.Columns(), t.all) {
			return false
		}
	}
	for _, t := range p.tables {
		t.set = datasets[t.listener]
	}
	return true
}

// Leave makes the plan forget its datasets.
func (p *Plan) Leave() {
	for _, t := range p.tables {
		t.set = nil
	}
}

// Columns returns the columns of the rows.
func (p *Plan) Columns() []dataset.Column { return p.columns }

// Needed returns the columns that the query uses, by listener, in the order of the listener.
func (p *Plan) Needed() map[string][]string {
	needed := map[string][]string{}
	for _, t := range p.tables {
		if len(t.all) > 0 && !slices.Contains(t.used, true) {
			t.used[0] = true // for the number of rows
		}
		names := needed[t.listener]
		for i, c := range t.all {
			if t.used[i] && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
		needed[t.listener] = names
	}
	return needed
}

// Run passes the rows of the query on, and ends them. The first error of a dataset, an expression or the output ends
// it. It returns a match for every listener after the first if the query is one SELECT without WHERE and LIMIT, that
// joins every listener once, by equalities with the first listener alone; a chain of FULL joins is such a SELECT, too.
func (p *Plan) Run(m *op.Memory, to op.Output) ([]op.Match, error) {
	p.matches = nil
	for _, s := range p.steps {
		s.begin()
	}
	err := p.root.run(m, to)
	m.Stop()
	for i, s := range p.steps {
		if s.end(); s.limit != nil && s.limit.Count == 0 {
			p.cut(i)
		}
	}
	return p.matches, err
}

// table is a listener in FROM.
type table struct {
	listener string
	set      Dataset
	all      []dataset.Column
	used     []bool
}

// scan returns the node of a listener.
func (p *planner) scan(t parse.Table) (*node, *table) {
	set := p.datasets[t.Name]
	if set == nil {
		names := make([]string, 0, len(p.datasets))
		for name := range p.datasets {
			names = append(names, name)
		}
		slices.Sort(names)
		p.try(func() {
			refuse(t.Position, fmt.Sprintf("the report has no listener %s", t.Name), report.DidYouMean(t.Name, names))
		})
		return unknown(t), nil
	}
	of := &table{listener: t.Name, set: set, all: set.Columns()}
	of.used = make([]bool, len(of.all))
	p.plan.tables = append(p.plan.tables, of)
	n := &node{}
	for _, c := range of.all {
		n.columns = append(n.columns,
			expr.Column{Table: t.Alias, Name: c.Name, Type: value.TypeOf(c), Digits: c.Digits})
	}
	return n, of
}

// unknown returns the node of a table with a mistake, which may have any columns.
func unknown(t parse.Table) *node { return &node{columns: []expr.Column{{Table: t.Alias, Any: true}}} }

// numbers returns the columns that are read.
func (t *table) numbers() []int {
	var numbers []int
	for i, used := range t.used {
		if used {
			numbers = append(numbers, i)
		}
	}
	if len(numbers) == 0 && len(t.all) > 0 {
		return []int{0} // for the number of rows
	}
	return numbers
}

// cells returns the function that sets the cells of expressions.
func cells(all []*expr.Expr) func(into, row op.Row) error {
	buffers, columns := make([][]byte, len(all)), make([]int, len(all))
	for i, e := range all {
		if columns[i] = -1; len(e.Columns()) == 1 {
			columns[i] = e.Columns()[0]
		}
	}
	return func(into, row op.Row) error {
		for i, column := range columns {
			if column >= 0 {
				into[i] = row[column]
				continue
			}
			e := all[i]
			if of := e.Columns(); of != nil {
				for len(of) > 1 && dataset.IsNull(row[of[0]]) {
					of = of[1:]
				}
				into[i] = row[of[0]]
				continue
			}
			v, err := e.Eval(row)
			if err != nil {
				return err
			}
			if v.IsNull() {
				into[i] = nil
				continue
			}
			buffers[i] = v.AppendCell(buffers[i][:0], e.Type)
			into[i] = buffers[i]
		}
		return nil
	}
}
