package expr

import (
	"fmt"

	"github.com/fanfold/fanfold/fold/collation"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/report"
)

// collate computes X COLLATE name.
func collate(e *parse.Collate, x *Expr) *Expr {
	c := collation.Named(e.Name)
	switch {
	case c.Why() != "":
		refuse(e.Position, c.Why(), report.DidYouMean(e.Name, collation.Names()))
	case !x.Type.Kind.IsText() && x.Type.Kind != value.Null:
		refuse(e.Position, fmt.Sprintf("COLLATE of a value of type %s", x.Type.Kind),
			"Write it after a text, or CAST the value AS CHAR")
	}
	with := *x
	with.Type.Collation, with.Type.Explicit = c, true
	return &with
}

// collationOf returns the collation by which texts of several expressions are compared.
func collationOf(all ...*Expr) *collation.Collation {
	var texts []value.Type
	at := all[0].at
	for _, e := range all {
		if !e.Type.Kind.IsText() {
			continue
		}
		if texts = append(texts, e.Type); e.Type.Collation != nil {
			at = e.at
		}
	}
	c, _ := value.Derive(texts...)
	if c.Why() != "" {
		refuse(at, c.Why(), "Write COLLATE utf8mb4_bin, or the collation that you mean, after one of them")
	}
	return c
}

// Comparison says how the values of two expressions are compared.
type Comparison struct {
	Kind      value.Kind
	scale     int                  // decimals to which doubles are rounded, as MariaDB does for = and <; or Floating
	Collation *collation.Collation // of texts
}

// Common returns how the values of two expressions are compared by =. The error is a *parse.Error.
func Common(l, r *Expr) (c Comparison, err error) {
	defer catch(&err)
	return comparisonOf(l, r), nil
}

func comparisonOf(l, r *Expr) Comparison {
	c := newComparer(l, r).Comparison
	if x, y := fixedScale(l.Type), fixedScale(r.Type); c.Kind == value.Double && x >= 0 && y >= 0 {
		c.scale = max(x, y)
	}
	return c
}

// Of returns a value as it is compared.
func (c Comparison) Of(v value.Value) value.Value {
	v = v.As(c.Kind)
	if v.Kind == value.Double && c.scale >= 0 {
		v.Float = roundFloat(v.Float, c.scale, true) + 0 // -0 becomes 0
	}
	v.Collation = c.Collation
	return v
}

// CompileKey prepares an expression by whose values rows are grouped or sorted. The error is a *parse.Error.
func CompileKey(e parse.Expr, s *Scope) (compiled *Expr, err error) {
	defer catch(&err)
	compiled = s.compile(e)
	collationOf(compiled)
	return compiled, nil
}

// typeOfText returns the type of a text that is made of the values of several expressions.
func typeOfText(all ...*Expr) value.Type {
	types := make([]value.Type, len(all))
	for i, e := range all {
		types[i] = e.Type
	}
	t := text
	t.Collation, t.Explicit = value.Derive(types...)
	return t
}
