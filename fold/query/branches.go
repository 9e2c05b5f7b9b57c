package query

import (
	"slices"

	"github.com/fanfold/fanfold/fold/parse"
)

// maxSteps limits how often the conditions of branches are looked at: they can contain branches, too. A branch whose
// condition is not looked at can be taken.
const maxSteps = 10_000

// maxConstants is the maximum number of constants that a comparison is tried with.
const maxConstants = 100

// branches finds what the rows can have of CASE, IF, COALESCE and their like.
type branches struct{ *nulls }

// results returns the expressions, one of which is the result in every row where it is not NULL, without those that are
// NULL. It returns false for an expression without branches.
func (b branches) results(e parse.Expr) (all []parse.Expr, ok bool) {
	add := func(x parse.Expr) {
		if x != nil && !b.isNull(x) {
			all = append(all, x)
		}
	}
	choose := func(skipped bool, then, otherwise parse.Expr) {
		if !skipped {
			add(then)
		}
		add(otherwise)
	}
	switch e := e.(type) {
	case *parse.Case:
		for _, w := range e.Whens {
			condition := w.If
			if e.Operand != nil {
				condition = &parse.Binary{Position: e.Position, Op: "=", L: e.Operand, R: w.If}
			}
			choose(b.skips(condition), w.Then, nil)
		}
		add(e.Else)
		return all, true
	case *parse.Call:
		switch three := len(e.Args) == 3; { // or else it is refused elsewhere
		case e.Name == "IF" && three:
			choose(b.skips(e.Args[0]), e.Args[1], e.Args[2])
			return all, true
		case e.Name == "NVL2" && three:
			choose(b.isNull(e.Args[0]), e.Args[1], e.Args[2])
			return all, true
		case e.Name == "COALESCE", e.Name == "IFNULL", e.Name == "NVL":
			for _, x := range e.Args {
				add(x)
				if l, isLiteral := x.(*parse.Literal); isLiteral && l.Kind != parse.Null {
					break // it is not NULL
				}
			}
			return all, true
		}
	}
	return nil, false
}

// skips tells whether no row takes the branch of a condition.
func (b branches) skips(condition parse.Expr) bool {
	*b.steps--
	return *b.steps >= 0 && b.never(condition, true)
}

// constants returns expressions without columns, one of which a condition is equal to in every row where it is not
// NULL; nil: they are not known. Texts are compared in two collations, because a column can give its own to a constant.
func (b branches) constants(e parse.Expr) (all []parse.Expr) {
	for _, x := range b.comparisons(e) {
		strict := b.constant(x, "utf8mb4_bin")
		if strict == nil {
			return nil
		}
		all = append(all, strict, b.constant(x, "utf8mb4_unicode_ci"))
	}
	return all
}

// comparisons returns a comparison with each of the results of its sides, or any other expression itself.
func (b branches) comparisons(e parse.Expr) (all []parse.Expr) {
	var left, right []parse.Expr
	var with func(l, r parse.Expr) parse.Expr
	switch e := e.(type) {
	case *parse.Binary:
		if slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, e.Op) {
			left, right = b.sides(e.L, e.R)
		}
		with = func(l, r parse.Expr) parse.Expr { return &parse.Binary{Position: e.Position, Op: e.Op, L: l, R: r} }
	case *parse.Like:
		if left, right = b.sides(e.X, e.Pattern); len(left) > 0 && !isText(left[0]) {
			left = nil // LIKE compares the texts of numbers, which have the decimals of all results
		}
		with = func(l, r parse.Expr) parse.Expr {
			return &parse.Like{Position: e.Position, X: l, Pattern: r, Escape: e.Escape, Not: e.Not}
		}
	}
	for _, l := range left {
		for _, r := range right {
			all = append(all, with(l, r))
		}
	}
	if all == nil {
		return []parse.Expr{e}
	}
	return all
}

// sides returns what the sides of a comparison can be, which are constants. It returns nothing if no side has
// branches, or if the result can be compared as another type: a number is a text beside another result that is one.
func (b branches) sides(l, r parse.Expr) (left, right []parse.Expr) {
	left, branched := b.leaves(l)
	right, both := b.leaves(r)
	if !branched && !both || len(left)*len(right) > maxConstants {
		return nil, nil
	}
	both = both && branched
	texts, numbers := false, false
	for _, x := range append(slices.Clone(left), right...) {
		switch literal, _ := x.(*parse.Literal); {
		case literal == nil:
			return nil, nil
		case isText(literal):
			texts = true
		case literal.Kind == parse.True, literal.Kind == parse.False,
			literal.Kind == parse.Integer && len(literal.Text) <= maxExact:
			numbers = true
		default:
			return nil, nil
		}
	}
	if numbers && (texts || both) {
		return nil, nil
	}
	return left, right
}

// isText tells whether an expression is a text that the query has.
func isText(e parse.Expr) bool {
	l, ok := e.(*parse.Literal)
	return ok && l.Kind == parse.String
}

// areAlike tells whether expressions are compared in pairs as they are all together: they are constant texts, or
// numbers and NULL. Another column, or a number beside a text, decides how all are compared.
func (b branches) areAlike(all []parse.Expr) bool {
	texts, others := false, false
	for _, e := range all {
		leaves, _ := b.leaves(e)
		for _, x := range leaves {
			null := b.isNull(x)
			if !null && b.constant(x, "utf8mb4_bin") == nil {
				return false
			}
			texts, others = texts || isText(x), others || null || !isText(x)
		}
		others = others || b.isNull(e)
	}
	return !texts || !others
}

// maxExact is the maximum number of digits of an integer that is exact in every type of a result.
const maxExact = 6

// leaves are the results of an expression and of those that it chooses, or itself if it has no branches.
func (b branches) leaves(e parse.Expr) (all []parse.Expr, branched bool) {
	results, branched := b.results(e)
	if !branched {
		return []parse.Expr{e}, false
	}
	for _, x := range results {
		some, _ := b.leaves(x)
		all = append(all, some...)
	}
	return all, true
}
