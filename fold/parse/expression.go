package parse

import (
	"fmt"
	"strconv"
	"strings"
)

// operators reads the operators of an expression.
type operators struct{ *parser }

// operands reads what operators combine.
type operands struct{ *parser }

// calls reads functions.
type calls struct{ *parser }

// expression reads an expression. The operators bind as in MariaDB, from the loosest: OR, XOR, AND, NOT, BETWEEN
// and CASE, comparisons and LIKE and IN, + and -, *, / and %, unary -, COLLATE.
func (p operators) expression() Expr {
	p.enter()
	defer p.leave()
	return p.binary(0)
}

// levels are the binary operators above NOT, from the loosest.
var levels = [][]string{{"OR", "||"}, {"XOR"}, {"AND", "&&"}}

// meanings are the names of operators that have several.
var meanings = map[string]string{"||": "OR", "&&": "AND", "!=": "<>", "MOD": "%"}

// binary reads the operators of a level and of those that bind more.
func (p operators) binary(level int) Expr {
	if level == len(levels) {
		return p.not()
	}
	left := p.binary(level + 1)
	for {
		at := p.token.Position
		op := p.accept(levels[level]...)
		if op == "" {
			return left
		}
		left = &Binary{at, meaning(op), left, p.binary(level + 1)}
	}
}

func meaning(op string) string {
	if m, ok := meanings[op]; ok {
		return m
	}
	return op
}

func (p operators) not() Expr {
	at := p.token.Position
	if p.accept("NOT") == "" {
		return p.comparison()
	}
	p.enter()
	defer p.leave()
	return &Unary{at, "NOT", p.not()}
}

// comparison reads comparisons, IS, LIKE, IN and BETWEEN.
func (p operators) comparison() Expr {
	left := p.sum()
	for {
		at := p.token.Position
		if op := p.accept("=", "<=>", "<>", "!=", "<", "<=", ">", ">="); op != "" {
			if p.is("ALL", "ANY", "SOME") {
				p.lacks(noSubqueries)
			}
			if op == "=" && p.is("=") {
				fail(at, "a fold has no operator ==", "Write =, or IS NULL to compare with NULL")
			}
			left = &Binary{at, meaning(op), left, p.sum()}
			continue
		}
		if p.accept("IS") != "" {
			left = p.isWhat(at, left)
			continue
		}
		not := p.is("NOT") && p.following.is("LIKE", "REGEXP", "RLIKE", "IN", "BETWEEN")
		if not {
			p.advance()
		}
		switch p.accept("LIKE", "REGEXP", "RLIKE", "IN", "BETWEEN") {
		case "LIKE":
			l := &Like{Position: at, X: left, Pattern: p.sum(), Not: not}
			if p.accept("ESCAPE") != "" {
				l.Escape = p.sum()
			}
			left = l
		case "REGEXP", "RLIKE":
			left = &Regexp{at, left, p.sum(), not}
		case "IN":
			left = &In{at, left, operands{p.parser}.list(), not}
		case "BETWEEN":
			b := &Between{Position: at, X: left, Low: p.sum(), Not: not}
			p.expect("AND")
			b.High = p.sum()
			left = b
		default:
			return left
		}
	}
}

// isWhat reads what follows IS.
func (p operators) isWhat(at Position, x Expr) Expr {
	is := &Is{Position: at, X: x, Not: p.accept("NOT") != ""}
	switch p.accept("NULL", "TRUE", "FALSE", "UNKNOWN") {
	case "TRUE":
		is.What = True
	case "FALSE":
		is.What = False
	case "":
		p.refuse("expected NULL, TRUE or FALSE, not "+p.shown(), "Compare values with =")
	}
	return is
}

// list reads the values of IN.
func (p operands) list() []Expr {
	p.expect("(")
	if p.is("SELECT") {
		p.lacks(noSubqueries)
	}
	return p.arguments()
}

// arguments reads expressions up to the closing parenthesis.
func (p operands) arguments() []Expr {
	var all []Expr
	if p.accept(")") != "" {
		return nil
	}
	for more := true; more; more = p.accept(",") != "" {
		all = append(all, p.expression())
	}
	p.expect(")")
	return all
}

// sum reads + and -, also with an INTERVAL.
func (p operators) sum() Expr {
	var left Expr
	if at := p.token.Position; p.is("INTERVAL") { // INTERVAL 1 DAY + x
		p.advance()
		n, unit := operands{p.parser}.interval()
		p.expect("+")
		left = &Call{Position: at, Name: "DATE_ADD", Args: []Expr{p.product(), n}, Unit: unit}
	} else {
		left = p.product()
	}
	for {
		at := p.token.Position
		op := p.accept("+", "-")
		switch {
		case op == "":
			return left
		case p.accept("INTERVAL") != "":
			n, unit := operands{p.parser}.interval()
			left = &Call{Position: at, Name: map[string]string{"+": "DATE_ADD", "-": "DATE_SUB"}[op],
				Args: []Expr{left, n}, Unit: unit}
		default:
			left = &Binary{at, op, left, p.product()}
		}
	}
}

// units are those of an INTERVAL.
var units = strings.Fields(`MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR`)

// interval reads the number and the unit after INTERVAL.
func (p operands) interval() (Expr, string) {
	n := p.expression()
	return n, p.unit()
}

func (p operands) unit() string {
	unit := p.accept(units...)
	if unit == "" {
		p.refuse("expected a unit of time, not "+p.shown(), "Write one of "+strings.Join(units, ", "))
	}
	return unit
}

func (p operators) product() Expr {
	left := p.unary()
	for {
		at := p.token.Position
		op := p.accept("*", "/", "%", "DIV", "MOD")
		if op == "" {
			return left
		}
		left = &Binary{at, meaning(op), left, p.unary()}
	}
}

func (p operators) unary() Expr {
	at := p.token.Position
	switch p.accept("-", "+", "!") {
	case "-":
		p.enter()
		defer p.leave()
		return &Unary{at, "-", p.unary()}
	case "+":
		p.enter()
		defer p.leave()
		return p.unary()
	case "!":
		p.enter()
		defer p.leave()
		return &Unary{at, "NOT", p.unary()}
	}
	x := operands{p.parser}.primary()
	for at := p.token.Position; p.accept("COLLATE") != ""; {
		x = &Collate{at, x, strings.ToLower(p.identifier("the name of a collation"))}
	}
	return x
}

// primary reads an operand.
func (p operands) primary() Expr {
	t := p.token
	switch {
	case t.kind == number:
		p.advance()
		return &Literal{t.Position, numberKind(t.text), t.text}
	case t.kind == text:
		p.advance()
		all := t.text
		for p.kind == text { // 'a' 'b' is 'ab'
			all += p.text
			p.advance()
		}
		return &Literal{t.Position, String, all}
	case t.kind == bytes:
		p.advance()
		return &Literal{t.Position, Hex, t.text}
	case t.kind == bits:
		p.advance()
		return &Literal{t.Position, HexNumber, t.text}
	case t.kind == parameter:
		p.advance()
		return &Parameter{t.Position, t.text}
	case t.is("("):
		p.advance()
		if p.is("SELECT") {
			p.lacks(noSubqueries)
		}
		x := p.expression()
		if p.is(",") {
			p.refuse("a fold has no rows of several values", "Compare the columns one by one: a = b AND c = d")
		}
		p.expect(")")
		return x
	case t.kind == word && p.following.is("(") && !p.following.spaced ||
		t.is("IF", "LEFT", "RIGHT", "REPLACE", "DATE", "TIME", "TIMESTAMP", "MOD") && p.following.is("("):
		return calls{p.parser}.call()
	case t.is("CASE"):
		return p.cases()
	case t.is("NULL", "TRUE", "FALSE"):
		p.advance()
		return &Literal{t.Position, map[string]LiteralKind{"NULL": Null, "TRUE": True,
			"FALSE": False}[strings.ToUpper(t.text)], ""}
	case t.is("DATE", "TIME", "TIMESTAMP") && p.following.kind == text:
		p.advance()
		kind := map[string]LiteralKind{"DATE": Date, "TIME": Time, "TIMESTAMP": Datetime}[strings.ToUpper(t.text)]
		x := &Literal{t.Position, kind, p.text}
		p.advance()
		return x
	case t.isName():
		return p.column()
	}
	p.unexpected("")
	return nil
}

func numberKind(text string) LiteralKind {
	switch {
	case strings.ContainsAny(text, "eE"):
		return Float
	case strings.Contains(text, "."):
		return Decimal
	}
	return Integer
}

// column reads a, t.a or s.t.a.
func (p operands) column() Expr {
	c := &Column{Position: p.token.Position}
	c.Name = p.identifier("a column")
	for p.accept(".") != "" {
		if c.Table != "" {
			c.Table += "."
		}
		c.Table += c.Name
		c.Name = p.afterDot("a column")
	}
	return c
}

// cases reads CASE.
func (p operands) cases() Expr {
	c := &Case{Position: p.token.Position}
	p.expect("CASE")
	if !p.is("WHEN") {
		c.Operand = p.expression()
	}
	for p.accept("WHEN") != "" {
		w := When{If: p.expression()}
		p.expect("THEN")
		w.Then = p.expression()
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		p.refuse("expected WHEN, not "+p.shown(), "Write CASE WHEN condition THEN value END")
	}
	if p.accept("ELSE") != "" {
		c.Else = p.expression()
	}
	p.expect("END")
	return c
}

// call reads a function, whose arguments have forms of their own in some.
func (p calls) call() Expr {
	c := &Call{Position: p.token.Position, Name: strings.ToUpper(p.text)}
	p.advance()
	p.expect("(")
	switch c.Name {
	case "CAST", "CONVERT":
		return p.cast(c)
	case "EXTRACT":
		c.Unit = operands{p.parser}.unit()
		p.expect("FROM")
		c.Args = []Expr{p.expression()}
	case "TIMESTAMPDIFF", "TIMESTAMPADD":
		c.Unit = operands{p.parser}.unit()
		p.expect(",")
		c.Args = operands{p.parser}.arguments()
		return c
	case "TRIM":
		return p.trim(c)
	case "POSITION":
		c.Name, c.Args = "LOCATE", []Expr{operators{p.parser}.sum()}
		p.expect("IN")
		c.Args = append(c.Args, p.expression())
	case "EXISTS":
		fail(c.Position, "a fold has no "+noSubqueries.what, noSubqueries.instead)
	case "SUBSTRING", "SUBSTR":
		c.Args = []Expr{p.expression()}
		if p.accept("FROM") != "" {
			if c.Args = append(c.Args, p.expression()); p.accept("FOR") != "" {
				c.Args = append(c.Args, p.expression())
			}
		}
		for p.accept(",") != "" {
			c.Args = append(c.Args, p.expression())
		}
	case "DATE_ADD", "DATE_SUB", "ADDDATE", "SUBDATE":
		c.Args = []Expr{p.expression()}
		p.expect(",")
		if p.accept("INTERVAL") != "" {
			var n Expr
			n, c.Unit = operands{p.parser}.interval()
			c.Args = append(c.Args, n)
		} else {
			c.Args, c.Unit = append(c.Args, p.expression()), "DAY"
		}
		c.Name = map[string]string{"ADDDATE": "DATE_ADD", "SUBDATE": "DATE_SUB", "DATE_ADD": "DATE_ADD",
			"DATE_SUB": "DATE_SUB"}[c.Name]
	default:
		return p.plainCall(c)
	}
	p.expect(")")
	return c
}

// plainCall reads arguments, and what aggregates have besides.
func (p calls) plainCall(c *Call) Expr {
	if p.is("*") && p.following.is(")") {
		p.advance()
		p.advance()
		c.Star = true
		return c
	}
	if p.is("SELECT") {
		p.lacks(noSubqueries)
	}
	c.Distinct = p.accept("DISTINCT", "ALL") == "DISTINCT"
	if p.accept(")") != "" {
		return c
	}
	for more := true; more; more = p.accept(",") != "" {
		c.Args = append(c.Args, p.expression())
	}
	if p.accept("ORDER") != "" {
		p.expect("BY")
		c.OrderBy = statements{p.parser}.orders()
	}
	if p.is("LIMIT") {
		p.refuse(c.Name+" has no LIMIT", "Select the rows in a subquery in FROM, with ORDER BY and LIMIT")
	}
	if p.accept("SEPARATOR") != "" {
		if p.kind != text {
			p.refuse("expected a text, not "+p.shown(), "Write SEPARATOR ', '")
		}
		separator := p.text
		c.Separator = &separator
		p.advance()
	}
	p.expect(")")
	return c
}

// trim reads TRIM([LEADING|TRAILING|BOTH] [x FROM] y) as LTRIM, RTRIM or TRIM with one or two arguments: y, x.
func (p calls) trim(c *Call) Expr {
	switch p.accept("LEADING", "TRAILING", "BOTH") {
	case "LEADING":
		c.Name = "LTRIM"
	case "TRAILING":
		c.Name = "RTRIM"
	}
	if p.accept("FROM") != "" {
		c.Args = []Expr{p.expression()}
	} else if c.Args = []Expr{p.expression()}; p.accept("FROM") != "" {
		c.Args = []Expr{p.expression(), c.Args[0]}
	}
	p.expect(")")
	return c
}

// castTypes are those of CAST, with the names of some that mean the same.
var castTypes = map[string]string{
	"CHAR": "CHAR", "CHARACTER": "CHAR", "VARCHAR": "CHAR", "BINARY": "BINARY",
	"SIGNED": "SIGNED", "UNSIGNED": "UNSIGNED", "INT": "SIGNED", "INTEGER": "SIGNED", "BIGINT": "SIGNED",
	"DECIMAL": "DECIMAL", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "DOUBLE": "DOUBLE",
	"DATE": "DATE", "DATETIME": "DATETIME", "TIME": "TIME",
}

// cast reads CAST(x AS type) and CONVERT(x, type).
func (p calls) cast(c *Call) Expr {
	x := p.expression()
	if c.Name == "CAST" {
		p.expect("AS")
	} else if p.is("USING") {
		p.refuse("a fold has no character sets but utf8mb4", "Convert the text in the query of a listener")
	} else {
		p.expect(",")
	}
	given := strings.ToUpper(p.text)
	t := CastType{castTypes[given], -1, -1}
	if t.Name == "" || p.kind != word {
		p.refuse("expected a type, not "+p.shown(),
			"Write CHAR, BINARY, SIGNED, UNSIGNED, DECIMAL(10,2), DOUBLE, DATE, DATETIME or TIME")
	}
	p.advance()
	if t.Name == "SIGNED" || t.Name == "UNSIGNED" {
		p.accept("INTEGER", "INT")
	}
	if p.accept("(") != "" {
		t.Length = p.size()
		if p.accept(",") != "" {
			t.Scale = p.size()
		}
		p.expect(")")
	}
	p.expect(")")
	return &Cast{c.Position, x, t}
}

// size reads a number of a type.
func (p calls) size() int {
	n, err := strconv.Atoi(p.text)
	if p.kind != number || err != nil || n > 65535 {
		p.refuse(fmt.Sprintf("expected a number of digits or characters, not %s", p.shown()),
			"Write DECIMAL(10,2) or CHAR(20)")
	}
	p.advance()
	return n
}
