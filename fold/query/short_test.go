package query_test

import (
	"math/rand/v2"
	"testing"

	"github.com/fanfold/fanfold/fold/parse"
)

// TestShortOfRandomExpressions: the text of a random expression means the same as the expression.
func TestShortOfRandomExpressions(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(7, 0))}
	expression := func(text string) parse.Expr {
		q, err := parse.Parse("SELECT " + text + " AS x FROM o")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return q.Selects[0].Items[0].X
	}
	for range 3000 {
		text := g.of(g.number(4), g.condition(4), g.text(4), g.date())
		for range g.IntN(4) { // without the parentheses of the generator
			sum := g.of(g.number(2), "-("+text+")", "!("+text+")")
			for range g.IntN(4) {
				sum += g.of(" + ", " - ", " * ", " / ", " DIV ", " % ") + g.of(g.number(1), "("+text+") COLLATE utf8mb4_bin")
			}
			text = g.of("NOT ", "") + text + g.of(" AND ", " OR ", " XOR ", " = ", " <=> ", " IS NOT TRUE AND ", " IS NULL = ",
				" BETWEEN 1 AND ", " LIKE ", " NOT REGEXP ") + sum
		}
		x := expression(text)
		if got := parse.SQL(x); parse.Canonical(expression(got)) != parse.Canonical(x) {
			t.Fatalf("%s is written as %s", text, got)
		}
	}
}
