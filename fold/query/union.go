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
		right := p.part(&q.Selects[i+1])
		p.try(func() { n = p.union(n, right, q.Selects[i+1].Position, all) })
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
		if !slices.ContainsFunc(append(slices.Clone(left.columns), right.columns...),
			func(c expr.Column) bool { return c.Any }) {
			refuse(at, fmt.Sprintf("a UNION of %d and %d columns", len(left.columns), len(right.columns)),
				"Give both SELECTs as many columns")
		}
		return left
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
		n.columns[i].Type, n.columns[i].Digits = expr.Unify(l, r), 0
		if why := n.columns[i].Type.Collation.Why(); why != "" && !all {
			refuse(at, fmt.Sprintf("in the column %s of a UNION, %s", left.columns[i].Name, why),
				"Write UNION ALL, or COLLATE utf8mb4_bin after the column in both SELECTs")
		}
	}
	if n.last = p.explain("union of distinct rows"); all {
		n.last.text, n.last.from = "union of all rows", []*step{left.last, right.last}
	}
	n.run = func(m *op.Memory, to op.Output) error {
		if !all {
			to = n.last.by(distinct(m, n.last.to(to), n.columns))
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
	compiled := func(x parse.Expr) *expr.Expr {
		if i, ok := position(x, len(n.columns)); ok {
			return scope.Converted(i, n.columns[i].Type)
		}
		return must(expr.CompileKey(x, scope))
	}
	for _, o := range orders {
		p.try(func() { compiled(o.X) })
	}
	keys := func() (keys []*expr.Expr) {
		for _, o := range orders {
			keys = append(keys, compiled(o.X))
		}
		return keys
	}
	end := p.explainEnd(orders, limit)
	return &node{n.columns, p.lastStep(), func(m *op.Memory, to op.Output) error {
		return n.run(m, end.sorted(m, end.limited(to), orders, keys))
	}}
}

// end is ORDER BY and LIMIT.
type end struct {
	limit        *parse.Limit
	sort, limits *step // nil: none
}

// explainEnd adds the steps of ORDER BY and LIMIT.
func (p *planner) explainEnd(orders []parse.Order, limit *parse.Limit) *end {
	var keys []string
	for _, o := range orders {
		keys = append(keys, parse.Short(o.X)+map[bool]string{true: " DESC"}[o.Desc])
	}
	e := &end{limit: limit}
	if keys != nil {
		e.sort = p.explain("sort by %s", strings.Join(keys, ", "))
		e.sort.blocks, e.sort.sorts = true, true
	}
	if limit != nil {
		e.limits = p.explain("limit %d, offset %d", limit.Count, limit.Offset)
	}
	return e
}

// sorted returns an output that sorts rows; without an order, it is to. keys compiles what the order sorts by, for one
// more goroutine. The output passes on as many rows as the limit needs.
func (e *end) sorted(m *op.Memory, to op.Output, orders []parse.Order, keys func() []*expr.Expr) op.Output {
	if len(orders) == 0 {
		return to
	}
	needed := int64(0)
	if l := e.limit; l != nil && l.Offset < math.MaxInt32 && l.Count < math.MaxInt32 {
		needed = max(1, l.Offset+l.Count)
	}
	return e.sort.by(op.NewSort(m, e.sort.to(to), int(needed), func() func(dst []byte, row op.Row) ([]byte, error) {
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
	}))
}

func (e *end) limited(to op.Output) op.Output {
	if e.limit == nil {
		return to
	}
	e.limits.limit = &op.Limit{To: e.limits.to(to), Offset: e.limit.Offset, Count: e.limit.Count}
	return e.limits.limit
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
