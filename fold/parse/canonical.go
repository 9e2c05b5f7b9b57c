package parse

import (
	"fmt"
	"strconv"
	"strings"
)

// Canonical returns a text of an expression that is the same for all that mean the same column by column: with all
// parentheses, and names of columns in lower case.
func Canonical(e Expr) string {
	switch e := e.(type) {
	case *Literal:
		return fmt.Sprintf("%d:%q", e.Kind, e.Text)
	case *Parameter:
		return ":" + e.Name
	case *Column:
		return "`" + e.Table + "`.`" + strings.ToLower(e.Name) + "`"
	case *Unary:
		return node(e.Op, e)
	case *Binary:
		return "(" + Canonical(e.L) + " " + e.Op + " " + Canonical(e.R) + ")"
	case *Is:
		return node(fmt.Sprint("IS", e.Not, int(e.What)), e)
	case *Like:
		return node(fmt.Sprint("LIKE", e.Not), e)
	case *Regexp:
		return node(fmt.Sprint("REGEXP", e.Not), e)
	case *In:
		return node(fmt.Sprint("IN", e.Not), e)
	case *Between:
		return node(fmt.Sprint("BETWEEN", e.Not), e)
	case *Case:
		return node(fmt.Sprint("CASE", e.Operand != nil, len(e.Whens), e.Else != nil), e)
	case *Call:
		name := e.Name + e.Unit
		if e.Distinct {
			name += " DISTINCT"
		}
		if e.Star {
			name += "*"
		}
		for _, o := range e.OrderBy {
			name += " " + strconv.FormatBool(o.Desc)
		}
		if e.Separator != nil {
			name += strconv.Quote(*e.Separator)
		}
		return node(name, e)
	case *Cast:
		return node(fmt.Sprint("CAST", e.Type), e)
	case *Collate:
		return node("COLLATE "+e.Name, e)
	}
	return ""
}

// node returns the text of a node with its children.
func node(name string, e Expr) string {
	var b strings.Builder
	b.WriteString(name + "(")
	for i, x := range Children(e) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Canonical(x))
	}
	return b.String() + ")"
}
