package parse

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// maxShort is the maximum length of a short text, in characters.
const maxShort = 500

// Short returns the SQL of an expression in one line for people. If it is longer than 500 characters, it is cut and
// ends in an ellipsis.
func Short(e Expr) string { return report.ShortenTo(SQL(e), maxShort) }

// SQL returns the text of an expression in one line: Parse reads it as an expression with the same Canonical.
func SQL(e Expr) string {
	var w sqlWriter
	w.write(e, orLevel)
	return w.String()
}

// The levels of binding, from the loosest.
const (
	orLevel = iota
	xorLevel
	andLevel
	notLevel
	comparisonLevel
	sumLevel
	productLevel
	minusLevel
	collateLevel
	operandLevel
)

var binaryLevels = map[string]int{"OR": orLevel, "XOR": xorLevel, "AND": andLevel, "+": sumLevel, "-": sumLevel,
	"*": productLevel, "/": productLevel, "%": productLevel, "DIV": productLevel}

// level returns how an expression binds.
func level(e Expr) int {
	switch e := e.(type) {
	case *Binary:
		if l, ok := binaryLevels[e.Op]; ok {
			return l
		}
		return comparisonLevel
	case *Is, *Like, *Regexp, *In, *Between:
		return comparisonLevel
	case *Unary:
		if e.Op == "NOT" {
			return notLevel
		}
		return minusLevel
	case *Collate:
		return collateLevel
	}
	return operandLevel
}

// sqlWriter writes expressions.
type sqlWriter struct{ strings.Builder }

// write writes an expression, in parentheses if it binds less than a level.
func (w *sqlWriter) write(e Expr, least int) {
	if level(e) < least {
		w.WriteString("(")
		defer w.WriteString(")")
	}
	switch e := e.(type) {
	case *Literal:
		w.WriteString(literal(e))
	case *Parameter:
		w.WriteString(":" + e.Name)
	case *Column:
		w.WriteString(column(e))
	case *Unary:
		if e.Op == "NOT" {
			w.all("NOT ", e.X, notLevel)
		} else {
			w.all(e.Op, e.X, collateLevel)
		}
	case *Binary:
		// A comparison in a comparison has parentheses on both sides: few people know how it binds.
		own := level(e)
		left := own
		if own == comparisonLevel {
			left = sumLevel
		}
		w.all(e.L, left, " "+e.Op+" ", e.R, own+1)
	case *Is:
		what := map[LiteralKind]string{Null: "NULL", True: "TRUE", False: "FALSE"}[e.What]
		w.all(e.X, sumLevel, " IS ", not(e.Not), what)
	case *Like:
		w.all(e.X, sumLevel, " ", not(e.Not), "LIKE ", e.Pattern, sumLevel)
		if e.Escape != nil {
			w.all(" ESCAPE ", e.Escape, sumLevel)
		}
	case *Regexp:
		w.all(e.X, sumLevel, " ", not(e.Not), "REGEXP ", e.Pattern, sumLevel)
	case *In:
		w.all(e.X, sumLevel, " ", not(e.Not), "IN (")
		w.list(e.List)
		w.WriteString(")")
	case *Between:
		w.all(e.X, sumLevel, " ", not(e.Not), "BETWEEN ", e.Low, sumLevel, " AND ", e.High, sumLevel)
	case *Case:
		w.cases(e)
	case *Call:
		w.call(e)
	case *Cast:
		w.all("CAST(", e.X, orLevel, " AS ", castType(e.Type), ")")
	case *Collate:
		w.all(e.X, collateLevel, " COLLATE ", e.Name)
	}
}

// all writes texts, and expressions, each with its level behind it.
func (w *sqlWriter) all(parts ...any) {
	for i, part := range parts {
		switch part := part.(type) {
		case string:
			w.WriteString(part)
		case Expr:
			w.write(part, parts[i+1].(int))
		}
	}
}

func (w *sqlWriter) list(all []Expr) {
	for i, x := range all {
		w.all([]string{"", ", "}[min(i, 1)], x, orLevel)
	}
}

func (w *sqlWriter) cases(c *Case) {
	w.WriteString("CASE")
	if c.Operand != nil {
		w.all(" ", c.Operand, orLevel)
	}
	for _, when := range c.Whens {
		w.all(" WHEN ", when.If, orLevel, " THEN ", when.Then, orLevel)
	}
	if c.Else != nil {
		w.all(" ELSE ", c.Else, orLevel)
	}
	w.WriteString(" END")
}

// trims are the sides of TRIM(… FROM text).
var trims = map[string]string{"TRIM": "", "LTRIM": "LEADING ", "RTRIM": "TRAILING "}

func (w *sqlWriter) call(c *Call) {
	side, trim := trims[c.Name]
	switch {
	case trim && len(c.Args) == 2:
		w.all("TRIM(", side, c.Args[1], orLevel, " FROM ", c.Args[0], orLevel, ")")
		return
	case c.Name == "EXTRACT":
		w.all("EXTRACT(", c.Unit, " FROM ", c.Args[0], orLevel, ")")
		return
	case c.Unit != "" && strings.HasPrefix(c.Name, "DATE_"):
		w.all(c.Name, "(", c.Args[0], orLevel, ", INTERVAL ", c.Args[1], orLevel, " ", c.Unit, ")")
		return
	}
	w.WriteString(c.Name + "(")
	switch {
	case c.Unit != "":
		w.WriteString(c.Unit + ", ")
	case c.Star:
		w.WriteString("*")
	case c.Distinct:
		w.WriteString("DISTINCT ")
	}
	w.list(c.Args)
	for i, o := range c.OrderBy {
		w.all([]string{" ORDER BY ", ", "}[min(i, 1)], o.X, orLevel)
		if o.Desc {
			w.WriteString(" DESC")
		}
	}
	if c.Separator != nil {
		w.WriteString(" SEPARATOR " + quote(*c.Separator))
	}
	w.WriteString(")")
}

func not(is bool) string {
	if is {
		return "NOT "
	}
	return ""
}

func castType(t CastType) string {
	switch {
	case t.Length < 0:
		return t.Name
	case t.Scale < 0:
		return fmt.Sprintf("%s(%d)", t.Name, t.Length)
	}
	return fmt.Sprintf("%s(%d,%d)", t.Name, t.Length, t.Scale)
}

func literal(l *Literal) string {
	switch l.Kind {
	case Null:
		return "NULL"
	case True:
		return "TRUE"
	case False:
		return "FALSE"
	case String:
		return quote(l.Text)
	case Hex:
		return fmt.Sprintf("x'%X'", l.Text)
	case HexNumber:
		return fmt.Sprintf("0x%X", l.Text)
	case Date:
		return "DATE " + quote(l.Text)
	case Time:
		return "TIME " + quote(l.Text)
	case Datetime:
		return "TIMESTAMP " + quote(l.Text)
	}
	return l.Text
}

var quoting = strings.NewReplacer("'", "''", `\`, `\\`, "\x00", `\0`, "\b", `\b`, "\n", `\n`, "\r", `\r`, "\t", `\t`,
	"\x1a", `\Z`)

func quote(text string) string { return "'" + quoting.Replace(text) + "'" }

// leading are words that are names, but not at the beginning of an operand everywhere.
var leading = setOf("ALL ANY SOME DISTINCT LEADING TRAILING BOTH")

func column(c *Column) string {
	names := []string{c.Name}
	if c.Table != "" {
		names = append(strings.Split(c.Table, "."), c.Name)
	}
	for i, n := range names {
		if names[i] = Quoted(n); i == 0 && leading[strings.ToUpper(n)] {
			names[i] = "`" + n + "`"
		}
	}
	return strings.Join(names, ".")
}
