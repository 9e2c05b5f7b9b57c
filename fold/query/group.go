package query

import (
	"slices"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// grouping makes a row of every group: its keys, then its aggregates.
type grouping struct {
	by      []parse.Expr // nil: all rows are one group, even none
	calls   []*parse.Call
	from    *expr.Scope // of the rows that are grouped
	columns []int       // of those rows, that the keys and aggregates use
	scope   *expr.Scope // of the rows of groups
	step    *step
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
	g := &grouping{by: b.GroupBy, from: b.scope,
		scope: &expr.Scope{Parameters: b.parameters, Computed: map[string]int{}, Grouped: true}}
	for _, x := range g.by {
		var t value.Type
		if !b.try(func() { t = must(expr.CompileKey(x, b.scope)).Type }) {
			g.scope.Grouped = false // a column that is not in GROUP BY may be what is meant
		}
		g.add(x, parse.Canonical(x), t)
	}
	var names []string
	for name := range calls {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		g.calls = append(g.calls, calls[name])
		var t value.Type
		b.try(func() { t = must(expr.CompileAggregate(calls[name], b.scope)).Type })
		g.add(calls[name], name, t)
	}
	// The columns of FROM are named for messages; those of groups come first.
	for _, c := range b.scope.Columns {
		g.scope.Columns = append(g.scope.Columns, c)
	}
	g.step = b.explain("%s", groups(b.GroupBy, calls, names))
	g.step.blocks = true
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

// add adds a key or an aggregate to the rows of groups.
func (g *grouping) add(x parse.Expr, name string, t value.Type) {
	parse.Columns(x, func(c *parse.Column) {
		// A column with a mistake is none; the mistake is reported by who compiles it.
		if i, err := g.from.Find(c); err == nil && !slices.Contains(g.columns, i) {
			g.columns = append(g.columns, i)
		}
	})
	if _, known := g.scope.Computed[name]; !known {
		g.scope.Computed[name] = len(g.scope.Columns)
	}
	g.scope.Columns = append(g.scope.Columns, expr.Column{Type: t})
}

// output returns the operator that takes the rows of the groups.
func (g *grouping) output(m *op.Memory, to op.Output) op.Output {
	by := op.Grouping{States: g.states, Columns: g.columns}
	if g.by != nil {
		by.Key = g.key
	}
	return op.NewGroup(m, to, by)
}

// keys compiles the keys for one more goroutine.
func (g *grouping) keys() []*expr.Expr {
	keys := make([]*expr.Expr, len(g.by))
	for i, x := range g.by {
		keys[i] = must(expr.CompileKey(x, g.from))
	}
	return keys
}

// key returns what computes the key of a row, for one more goroutine. An integer is its own key.
func (g *grouping) key() func(row op.Row) (op.Key, error) {
	keys, buffer := g.keys(), []byte{}
	column, integer := keys[0].Column()
	integer = integer && len(keys) == 1 && keys[0].Type.Kind == value.Integer
	return func(row op.Row) (op.Key, error) {
		if integer {
			if n, ok := value.PlainInteger(row[column]); ok {
				return op.IntKey(n), nil
			}
		}
		dst := buffer[:0]
		for _, e := range keys {
			v, err := e.Eval(row)
			switch {
			case err != nil:
				return op.Key{}, err
			case integer && v.Kind == value.Integer && !v.Unsigned:
				return op.IntKey(v.Int), nil
			}
			dst = v.AppendKey(dst)
		}
		buffer = dst
		return op.TextKey(dst), nil
	}
}

// groupStates are the states of some groups: those of the aggregates, one after the other. The cells of the keys are
// kept of the first row.
type groupStates struct {
	all   []aggregate
	bytes int
	cells func(into, row op.Row) error // sets those of the keys
	keys  op.Row
}

// aggregate is an aggregate of some groups.
type aggregate struct {
	expr.States
	t        value.Type
	distinct *expr.Distinct // nil: it takes all values
	from, to int            // where its state is
}

// states returns the states of some groups, for one more goroutine.
func (g *grouping) states() op.States {
	s := &groupStates{all: make([]aggregate, len(g.calls)), cells: cells(g.keys()), keys: make(op.Row, len(g.by))}
	for i, call := range g.calls {
		of := must(expr.CompileAggregate(call, g.from))
		a := &s.all[i]
		a.States, a.t, a.from = of.New(), of.Type, s.bytes
		a.distinct, _ = a.States.(*expr.Distinct)
		s.bytes += a.States.Bytes()
		a.to = s.bytes
	}
	return s
}

// Bytes implements op.States.
func (s *groupStates) Bytes() int { return s.bytes }

// Begin implements op.States.
func (s *groupStates) Begin(dst []byte, first op.Row) ([]byte, error) {
	if len(s.keys) == 0 {
		return dst, nil
	}
	if err := s.cells(s.keys, first); err != nil {
		return dst, err
	}
	return op.AppendRow(dst, s.keys), nil
}

// Add implements op.States. The values of aggregates with DISTINCT come later if they must.
func (s *groupStates) Add(
	state []byte, row op.Row, later func(part int, value []byte) error,
) (held int, err error) {
	for i := range s.all {
		a, more := &s.all[i], 0
		if of := state[a.from:a.to]; a.distinct != nil && later != nil {
			err = a.distinct.AddKnown(of, row, func(value []byte) error { return later(i, value) })
		} else {
			more, err = a.States.Add(of, row)
		}
		if held += more; err != nil {
			return held, err
		}
	}
	return held, nil
}

// AddLater implements op.States.
func (s *groupStates) AddLater(state []byte, part int, row op.Row) error {
	a := &s.all[part]
	_, err := a.distinct.AddLater(state[a.from:a.to], row)
	return err
}

// Rows implements op.States.
func (s *groupStates) Rows() func(first, state []byte) (op.Row, error) {
	n := len(s.keys)
	row, buffers := make(op.Row, n+len(s.all)), make([][]byte, len(s.all))
	return func(first, state []byte) (op.Row, error) {
		op.DecodeRow(row[:n], first)
		for i := range s.all {
			a := &s.all[i]
			v, err := a.Value(state[a.from:a.to])
			if err != nil {
				return nil, err
			}
			if v.IsNull() {
				row[n+i] = nil
				continue
			}
			buffers[i] = v.AppendCell(buffers[i][:0], a.t)
			row[n+i] = buffers[i]
		}
		return row, nil
	}
}
