package expr

import (
	"fmt"
	"slices"
	"strings"

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
		refuse(at, c.Why(), collateRemedy(c))
	}
	return c
}

// collateRemedy proposes one of the collations that meet.
func collateRemedy(c *collation.Collation) string {
	var names []string
	for _, one := range c.Comparing() {
		if name := "COLLATE " + one.Name(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		names = []string{"COLLATE utf8mb4_bin", "another collation"}
	}
	return "Write " + strings.Join(names, " or ") + " after one of them"
}

// Comparison says how the values of two expressions are compared.
type Comparison struct {
	Kind      value.Kind
	scale     int                  // decimals to which doubles are rounded; or Floating
	Collation *collation.Collation // of texts
}

// Common returns how the values of two expressions, neither of which is constant, are compared by =. The error is a
// parse.Errors.
func Common(l, r *Expr) (c Comparison, err error) {
	defer parse.Catch(&err)
	if z := zoned(l, r); z[0] != l || z[1] != r {
		refuse(r.at, "a join by a datetime parameter that has a time zone", ZoneRemedy)
	}
	return newComparer(l, r).exact().Comparison, nil
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

// CompileKey prepares an expression by whose values rows are grouped or sorted. The error is parse.Errors.
func CompileKey(e parse.Expr, s *Scope) (compiled *Expr, err error) {
	return wholly(s, func(s *Scope) *Expr {
		compiled := s.compile(e)
		collationOf(compiled)
		return compiled
	})
}

// typeOfText returns the type of a text that is made of the values of several expressions: binary if one is.
func typeOfText(all ...*Expr) value.Type {
	types := make([]value.Type, len(all))
	t := text
	for i, e := range all {
		if types[i] = e.Type; e.Type.Kind == value.Binary {
			t.Kind = value.Binary
		}
	}
	t.Collation, t.Explicit = value.Derive(types...)
	return t
}
