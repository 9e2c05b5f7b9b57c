package query

import (
	"slices"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
)

// grouping makes a row of every group: its keys, then its aggregates.
type grouping struct {
	keys       []*expr.Expr
	aggregates []*expr.Aggregate
	scope      *expr.Scope // of the rows
	single     bool        // without GROUP BY, all rows are one group, even none
	step       *step
}

// grouping plans the groups of a SELECT; nil: it has none.
func (b *selecting) grouping() *grouping {
	calls := map[string]*parse.Call{}
	for _, item := range b.items {
		expr.Aggregates(item.X, calls)
	}
	if b.Having != nil {
		expr.Aggregates(b.Having, calls)
	}
	for _, o := range b.orders {
		expr.Aggregates(o.X, calls)
	}
	if len(calls) == 0 && b.GroupBy == nil {
		return nil
	}
	g := &grouping{scope: &expr.Scope{Parameters: b.parameters, Computed: map[string]int{}, Grouped: true},
		single: b.GroupBy == nil}
	for _, x := range b.GroupBy {
		e := &expr.Expr{}
		if !b.try(func() { e = must(expr.CompileKey(x, b.scope)) }) {
			g.scope.Grouped = false // a column that is not in GROUP BY may be what is meant
		}
		g.add(parse.Canonical(x), expr.Column{Type: e.Type})
		g.keys = append(g.keys, e)
	}
	var names []string
	for name := range calls {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		a := &expr.Aggregate{}
		b.try(func() { a = must(expr.CompileAggregate(calls[name], b.scope)) })
		g.add(name, expr.Column{Type: a.Type})
		g.aggregates = append(g.aggregates, a)
	}
	// The columns of FROM are named for messages; those of groups come first.
	for _, c := range b.scope.Columns {
		g.scope.Columns = append(g.scope.Columns, c)
	}
	g.step = b.explain("%s", groups(b.GroupBy, calls, names))
	return g
}

// groups returns what EXPLAIN says of groups.
func groups(by []parse.Expr, calls map[string]*parse.Call, names []string) string {
	text := "one group"
	for i, x := range by {
		text = []string{"group by ", text + ", "}[min(i, 1)] + parse.Short(x)
	}
	for i, name := range names {
		text += []string{": ", ", "}[min(i, 1)] + parse.Short(calls[name])
	}
	return text
}

func (g *grouping) add(name string, c expr.Column) {
	if _, known := g.scope.Computed[name]; !known {
		g.scope.Computed[name] = len(g.scope.Columns)
	}
	g.scope.Columns = append(g.scope.Columns, c)
}

// output returns the operator that takes the rows of the groups.
func (g *grouping) output(m *op.Memory, to op.Output) op.Output {
	if g.single {
		return op.NewOne(m, to, g.begin(nil))
	}
	return op.NewGroup(m, to, keyOf(g.keys), func(first op.Row) op.State { return g.begin(first) })
}

// groupState is the state of a group.
type groupState struct {
	g      *grouping
	keys   [][]byte // cells
	states []expr.State
	size   int
	err    error
}

// begin returns the state of a group that begins with a row; nil: it has no keys.
func (g *grouping) begin(first op.Row) *groupState {
	s := &groupState{g: g, states: make([]expr.State, len(g.aggregates))}
	for i, a := range g.aggregates {
		s.states[i] = a.New()
	}
	if first != nil {
		s.keys = make([][]byte, len(g.keys))
		if s.err = cells(g.keys)(s.keys, first); s.err == nil {
			for i, cell := range s.keys {
				s.keys[i] = slices.Clone(cell)
				s.size += len(cell) + 24
			}
		}
	}
	return s
}

// Add implements op.State. The values of aggregates with DISTINCT come later if they must.
func (s *groupState) Add(row op.Row, later func(part int, value []byte) error) error {
	for i, state := range s.states {
		var err error
		if d, ok := state.(*expr.Distinct); ok && later != nil {
			err = d.AddKnown(row, func(value []byte) error { return later(i, value) })
		} else {
			err = state.Add(row)
		}
		if err != nil {
			return err
		}
	}
	return s.err
}

// AddLater implements op.State.
func (s *groupState) AddLater(part int, row op.Row) error {
	return s.states[part].(*expr.Distinct).State.Add(row)
}

// Row implements op.State.
func (s *groupState) Row() (op.Row, error) {
	row := append(make(op.Row, 0, len(s.keys)+len(s.states)), s.keys...)
	for i, state := range s.states {
		v, err := state.Value()
		if err != nil {
			return nil, err
		}
		if v.IsNull() {
			row = append(row, nil)
			continue
		}
		row = append(row, v.AppendCell(nil, s.g.aggregates[i].Type))
	}
	return row, nil
}

// Size implements op.State.
func (s *groupState) Size() int {
	size := s.size
	for _, state := range s.states {
		size += state.Size()
	}
	return size
}
