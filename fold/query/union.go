package query

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// query plans a query: one SELECT with its order and limit, or a union of several.
func (p *planner) query(q *parse.Query) *node {
	if len(q.Selects) == 1 && q.Selects[0].Sub == nil {
		return p.selection(&q.Selects[0], q.OrderBy, q.Limit)
	}
	n := p.part(&q.Selects[0])
	for i, all := range q.All {
		n = p.union(n, p.part(&q.Selects[i+1]), q.Selects[i+1].Position, all)
	}
	return p.ordered(n, q.OrderBy, q.Limit)
}

// part plans a SELECT of a union.
func (p *planner) part(s *parse.Select) *node {
	if s.Sub != nil {
		return p.query(s.Sub)
	}
	return p.selection(s, nil, nil)
}

// union plans the rows of both sides, with the names of the left one.
func (p *planner) union(left, right *node, at parse.Position, all bool) *node {
	if len(left.columns) != len(right.columns) {
		refuse(at, fmt.Sprintf("a UNION of %d and %d columns", len(left.columns), len(right.columns)),
			"Give both SELECTs as many columns")
	}
	n := &node{columns: slices.Clone(left.columns)}
	for i := range n.columns {
		l, r := left.columns[i].Type, right.columns[i].Type
		if _, differ := value.ZoneOf(l, r); differ != "" {
			refuse(at, fmt.Sprintf("in the column %s of a UNION, %s", left.columns[i].Name, differ), expr.ZoneRemedy)
		}
		if l.Kind.Clashes(r.Kind) {
			refuse(at, fmt.Sprintf("a UNION of a %s and a %s in column %s", l.Kind, r.Kind, left.columns[i].Name),
				"CAST both to one type")
		}
		n.columns[i].Type = expr.Unify(l, r)
		if why := n.columns[i].Type.Collation.Why(); why != "" && !all {
			refuse(at, fmt.Sprintf("in the column %s of a UNION, %s", left.columns[i].Name, why),
				"Write UNION ALL, or COLLATE utf8mb4_bin after the column in both SELECTs")
		}
	}
	p.explain("union, all=%v", all)
	n.run = func(m *op.Memory, to op.Output) error {
		if !all {
			to = distinct(m, to, n.columns)
		}
		first := &op.Part{Output: to}
		if err := left.run(m, converted(first, left.columns, n.columns)); err != nil {
			return err
		}
		if first.Enough {
			return to.End()
		}
		return right.run(m, converted(to, right.columns, n.columns))
	}
	return n
}

// converted returns an output that takes rows of other types.
func converted(to op.Output, from, into []expr.Column) op.Output {
	same := true
	for i := range from {
		same = same && from[i].Type == into[i].Type
	}
	if same {
		return to
	}
	return op.NewProject(to, len(from), func() func(into, row op.Row) error {
		scope, all := &expr.Scope{Columns: from}, make([]*expr.Expr, len(from))
		for i := range from {
			all[i] = scope.Converted(i, into[i].Type)
		}
		return cells(all)
	})
}

// distinct returns an output that passes every row on once.
func distinct(m *op.Memory, to op.Output, columns []expr.Column) op.Output {
	scope := &expr.Scope{Columns: columns}
	all := make([]*expr.Expr, len(columns))
	for i := range columns {
		all[i] = scope.Converted(i, columns[i].Type)
	}
	return op.NewDistinct(m, to, keyOf(all))
}

// keyOf returns the function of a key by which rows are equal.
func keyOf(all []*expr.Expr) func(dst []byte, row op.Row) ([]byte, error) {
	return func(dst []byte, row op.Row) ([]byte, error) {
		for _, e := range all {
			v, err := e.Eval(row)
			if err != nil {
				return dst, err
			}
			dst = v.AppendKey(dst)
		}
		return dst, nil
	}
}

// ordered adds ORDER BY and LIMIT to rows whose columns they name.
func (p *planner) ordered(n *node, orders []parse.Order, limit *parse.Limit) *node {
	if orders == nil && limit == nil {
		return n
	}
	scope := &expr.Scope{Columns: n.columns, Parameters: p.parameters}
	keys := func() (keys []*expr.Expr) {
		for _, o := range orders {
			if i, ok := position(o.X, len(n.columns)); ok {
				keys = append(keys, scope.Converted(i, n.columns[i].Type))
			} else {
				keys = append(keys, must(expr.CompileKey(o.X, scope)))
			}
		}
		return keys
	}
	_ = keys() // has no mistakes
	p.explainEnd(orders, limit)
	return &node{columns: n.columns, run: func(m *op.Memory, to op.Output) error {
		return n.run(m, sorted(m, limited(to, limit), orders, keys, limit))
	}}
}

func (p *planner) explainEnd(orders []parse.Order, limit *parse.Limit) {
	var keys []string
	for _, o := range orders {
		keys = append(keys, parse.Short(o.X)+map[bool]string{true: " DESC"}[o.Desc])
	}
	if keys != nil {
		p.explain("sort by %s", strings.Join(keys, ", "))
	}
	if limit != nil {
		p.explain("limit %d, offset %d", limit.Count, limit.Offset)
	}
}

// sorted returns an output that sorts rows; without an order, it is to. keys compiles what the order sorts by, for one
// more goroutine. The output passes on as many rows as a limit needs.
func sorted(
	m *op.Memory, to op.Output, orders []parse.Order, keys func() []*expr.Expr, limit *parse.Limit,
) op.Output {
	if len(orders) == 0 {
		return to
	}
	needed := int64(0)
	if limit != nil && limit.Offset < math.MaxInt32 && limit.Count < math.MaxInt32 {
		needed = max(1, limit.Offset+limit.Count)
	}
	return op.NewSort(m, to, int(needed), func() func(dst []byte, row op.Row) ([]byte, error) {
		all := keys()
		return func(dst []byte, row op.Row) ([]byte, error) {
			for i, e := range all {
				v, err := e.Eval(row)
				if err != nil {
					return dst, err
				}
				dst = expr.AppendOrder(dst, v, orders[i].Desc)
			}
			return dst, nil
		}
	})
}

func limited(to op.Output, limit *parse.Limit) op.Output {
	if limit == nil {
		return to
	}
	return &op.Limit{To: to, Offset: limit.Offset, Count: limit.Count}
}

// position reads the number of a column, from 1, in ORDER BY and GROUP BY.
func position(e parse.Expr, columns int) (int, bool) {
	l, ok := e.(*parse.Literal)
	if !ok || l.Kind != parse.Integer {
		return 0, false
	}
	n, err := strconv.Atoi(l.Text)
	if err != nil || n < 1 || n > columns {
		refuse(l.Position, fmt.Sprintf("the query has no column %s", l.Text),
			fmt.Sprintf("Write a number from 1 to %d, or a name", columns))
	}
	return n - 1, true
}
