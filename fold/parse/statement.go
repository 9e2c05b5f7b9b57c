package parse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
)

// Parse reads one SELECT. The error is Errors with the first mistake of its syntax.
func Parse(text string) (q *Query, err error) {
	defer Catch(&err)
	if !utf8.ValidString(text) {
		fail(Position{1, 1}, "not UTF-8 text", "Save the file as UTF-8")
	}
	p := &parser{lexer: lexer{src: text, line: 1}}
	p.following = p.next()
	p.advance()
	tree := statements{p}.query()
	p.accept(";")
	switch {
	case p.kind == end:
		return tree, nil
	case p.is("SELECT"):
		p.refuse("more than one statement", "Combine them with UNION ALL")
	}
	p.unexpected("")
	return nil, nil
}

// parser reads tokens. It looks one token ahead.
type parser struct {
	lexer
	token           // the current one
	following token // the one after it
	previous  token
	nested    int // depth of expressions and queries
}

// maxNested bounds the depth of a query, and so the stack that reading it takes.
const maxNested = 200

// advance makes the following token the current one.
func (p *parser) advance() {
	p.previous, p.token = p.token, p.following
	if p.token.kind != end {
		p.following = p.next()
	}
}

// enter bounds the depth. The caller calls leave.
func (p *parser) enter() {
	if p.nested++; p.nested > maxNested {
		p.refuse("more than "+strconv.Itoa(maxNested)+" nested expressions", "Simplify the query")
	}
}

func (p *parser) leave() { p.nested-- }

// refuse ends the parsing with a mistake at the current token.
func (p *parser) refuse(message, remedy string) { fail(p.token.Position, message, remedy) }

// shown is the current token for a message.
func (p *parser) shown() string {
	if p.kind == end {
		return "end"
	}
	return strconv.Quote(report.ShortenTo(p.src[p.from:p.to], 30))
}

// is tells whether the current token is one of these words or this punctuation.
func (p *parser) is(words ...string) bool { return p.token.is(words...) }

func (t token) is(words ...string) bool {
	return (t.kind == word || t.kind == punct) && slices.ContainsFunc(words,
		func(w string) bool { return strings.EqualFold(w, t.text) })
}

// accept passes the current token if it is one of these, and returns it in upper case.
func (p *parser) accept(words ...string) string {
	if !p.is(words...) {
		return ""
	}
	found := strings.ToUpper(p.text)
	p.advance()
	return found
}

// expect passes words, one after the other.
func (p *parser) expect(words ...string) {
	for _, w := range words {
		if p.accept(w) == "" {
			p.unexpected(w)
		}
	}
}

// missing is what MariaDB has and a fold does not.
type missing struct{ what, instead string }

var (
	noWindows    = missing{"window functions", "Use GROUP BY, or compute the value in the query of a listener"}
	noSubqueries = missing{"subqueries outside of FROM",
		"Use an INNER JOIN with (SELECT DISTINCT …), or a LEFT JOIN … WHERE column IS NULL"}
	noBits       = missing{"operators on bits", "Compute the value in the query of a listener"}
	noVariables  = missing{"variables", "Declare a parameter of the report, and write :name"}
	noLocks      = missing{"locks", "Remove it: a fold reads what the listeners found"}
	noStatements = missing{"statement but SELECT", "Write SELECT … FROM a listener"}
	noRollup     = missing{"ROLLUP", "Add the totals with UNION ALL"}
)

// unsupported are the words and signs with which something begins that a fold does not have.
var unsupported = map[string]missing{
	"OVER": noWindows, "WINDOW": noWindows, "EXISTS": noSubqueries, "ROLLUP": noRollup,
	"|": noBits, "&": noBits, "^": noBits, "~": noBits, "<<": noBits, ">>": noBits, "@": noVariables, ":=": noVariables,
	"FOR": noLocks, "LOCK": noLocks, "DELETE": noStatements, "UPDATE": noStatements, "INSERT": noStatements,
	"WITH":          {"WITH", "Write the query into FROM: FROM (SELECT …) AS name"},
	"CROSS":         {"CROSS JOIN", "A join needs an equality: write JOIN … ON a.column = b.column"},
	"STRAIGHT_JOIN": {"STRAIGHT_JOIN", "Write JOIN: joins run in the order written"},
	"NATURAL":       {"NATURAL JOIN", "Name the columns: write JOIN … USING (column)"},
	"INTERSECT":     {"INTERSECT", "Use an INNER JOIN with (SELECT DISTINCT …)"},
	"EXCEPT":        {"EXCEPT", "Use a LEFT JOIN … WHERE column IS NULL"},
	"INTO":          {"INTO", "Remove it: the rows become the file"},
	"?":             {"placeholders", "Write :name, a parameter of the report"},
}

// lacks ends the parsing because a fold does not have something.
func (p *parser) lacks(m missing) { p.refuse("a fold has no "+m.what, m.instead) }

// unexpected ends the parsing at the current token. what was expected may be empty.
func (p *parser) unexpected(what string) {
	if m, ok := unsupported[strings.ToUpper(p.text)]; ok && (p.kind == word || p.kind == punct) {
		p.lacks(m)
	}
	p.checkBefore(p.previous, p.token)
	message, remedy := "unexpected "+p.shown(), "Correct the query: a fold is one SELECT over the listeners"
	switch {
	case p.kind == end:
		remedy = "The query ends too early: complete it"
	case p.kind == word && isReserved(p.text):
		remedy = fmt.Sprintf("If %s is a name, put it in backquotes", p.text)
	}
	if what != "" {
		message = fmt.Sprintf("expected %s, not %s", what, p.shown())
	}
	p.refuse(message, remedy)
}

// checkBefore ends the parsing if a mistake in a token explains why the one after it is unexpected.
func (p *parser) checkBefore(before, after token) {
	switch {
	case before.kind == text && !after.spaced && (after.kind == word || after.kind == number):
		quote := p.src[before.from : before.from+1]
		fail(before.Position, "a quote is not closed: the text ends right before "+strconv.Quote(after.text),
			"Close it with "+quote+", and write "+quote+quote+" for "+quote+" in a text")
	case before.is("BINARY") && (after.isName() || after.kind == text || after.kind == parameter || after.is("(")):
		fail(before.Position, "a fold has no operator BINARY", "Write COLLATE utf8mb4_bin after the text")
	}
}

// checkAlias ends the parsing if the previous token, an alias without AS, cannot be one because of what follows. before
// is the token before it.
func (p statements) checkAlias(before token) {
	if p.is(",", "FROM") || p.kind == end {
		return
	}
	alias := p.previous
	p.checkBefore(before, alias)
	p.checkBefore(alias, p.token)
	switch {
	case p.is(".", "AS", "+", "-", "*", "/", "%") || p.is("(") && !p.spaced: // it begins the next column
		to := alias.to
		if p.is(".") && p.following.isName() {
			to = p.following.to
		}
		fail(alias.Position, "a comma is missing before "+report.ShortenTo(p.src[alias.from:to], 30),
			"Write a comma between two columns")
	case p.token.isName() || p.kind == number || p.kind == text:
		p.refuse("expected FROM or a comma, not "+p.shown(),
			"Write a comma between two columns, or FROM before the listener")
	}
}

// reserved are words that are no names without backquotes. FULL is one here, but not in MariaDB.
var reserved = setOf(`ALL AND AS ASC BETWEEN BY CASE COLLATE CROSS DESC DISTINCT DIV ELSE END EXCEPT
	EXISTS FALSE FOR FROM FULL GROUP HAVING IN INNER INTERSECT INTERVAL INTO IS JOIN LEFT LIKE LIMIT LOCK MOD NATURAL
	NOT NULL ON OR ORDER OUTER OVER REGEXP RIGHT RLIKE SELECT STRAIGHT_JOIN THEN TRUE UNION USING WHEN WHERE WITH XOR`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// isReserved tells whether a word is reserved, in any case.
func isReserved(word string) bool {
	var upper [13]byte // the longest one is STRAIGHT_JOIN
	if len(word) > len(upper) {
		return false
	}
	for i := range len(word) {
		if upper[i] = word[i]; word[i] >= 'a' && word[i] <= 'z' {
			upper[i] -= 'a' - 'A'
		}
	}
	return reserved[string(upper[:len(word)])]
}

// isName tells whether a token can be a name.
func (t token) isName() bool { return t.kind == name || t.kind == word && !isReserved(t.text) }

// identifier reads a name.
func (p *parser) identifier(what string) string {
	if !p.token.isName() {
		p.unexpected(what)
	}
	p.advance()
	return p.previous.text
}

// afterDot reads a name behind a dot, where no word is reserved.
func (p *parser) afterDot(what string) string {
	if p.kind == word {
		p.advance()
		return p.previous.text
	}
	return p.identifier(what)
}

// statements reads all of a query but its expressions.
type statements struct{ *parser }

// expression reads an expression.
func (p *parser) expression() Expr { return operators{p}.expression() }

// query reads SELECT … UNION … ORDER BY … LIMIT.
func (p statements) query() *Query {
	p.enter()
	defer p.leave()
	q := &Query{Position: p.token.Position}
	q.Selects = append(q.Selects, p.selection())
	for p.accept("UNION") != "" {
		all := p.accept("ALL", "DISTINCT") == "ALL"
		q.All = append(q.All, all)
		q.Selects = append(q.Selects, p.selection())
	}
	if p.accept("ORDER") != "" {
		p.expect("BY")
		q.OrderBy = p.orders()
	}
	if p.is("LIMIT") {
		q.Limit = p.limit()
	}
	if len(q.Selects) == 1 && q.Selects[0].Sub != nil && q.OrderBy == nil && q.Limit == nil {
		return q.Selects[0].Sub // ((SELECT …))
	}
	return q
}

// orders reads what follows ORDER BY.
func (p statements) orders() []Order {
	var all []Order
	for more := true; more; more = p.accept(",") != "" {
		o := Order{X: p.expression()}
		o.Desc = p.accept("ASC", "DESC") == "DESC"
		all = append(all, o)
	}
	return all
}

// limit reads LIMIT n, LIMIT m, n or LIMIT n OFFSET m.
func (p statements) limit() *Limit {
	p.expect("LIMIT")
	l := &Limit{Count: p.count()}
	switch p.accept(",", "OFFSET") {
	case ",":
		l.Offset, l.Count = l.Count, p.count()
	case "OFFSET":
		l.Offset = p.count()
	}
	return l
}

// count reads a number of rows.
func (p statements) count() int64 {
	n, err := strconv.ParseInt(p.text, 10, 64)
	if p.kind != number || err != nil {
		p.refuse("expected a number of rows, not "+p.shown(), "Write LIMIT 100")
	}
	p.advance()
	return n
}

// selection reads one SELECT, or a query in parentheses.
func (p statements) selection() Select {
	s := Select{Position: p.token.Position}
	if p.accept("(") != "" {
		s.Sub = p.query()
		p.expect(")")
		return s
	}
	p.expect("SELECT")
	s.Distinct = strings.HasPrefix(p.accept("DISTINCT", "DISTINCTROW", "ALL"), "DISTINCT")
	for more := true; more; more = p.accept(",") != "" {
		s.Items = append(s.Items, p.item())
	}
	p.expect("FROM")
	s.From = p.table()
	for p.is("JOIN", "INNER", "LEFT", "RIGHT", "FULL") {
		s.Joins = append(s.Joins, p.join())
	}
	if p.is(",") {
		p.refuse("a fold has no joins by comma", "Write JOIN … ON a.column = b.column")
	}
	if p.accept("WHERE") != "" {
		s.Where = p.expression()
	}
	if p.accept("GROUP") != "" {
		p.expect("BY")
		for more := true; more; more = p.accept(",") != "" {
			s.GroupBy = append(s.GroupBy, p.expression())
			p.accept("ASC")
		}
		if p.is("WITH") {
			p.lacks(noRollup)
		}
	}
	if p.accept("HAVING") != "" {
		s.Having = p.expression()
	}
	return s
}

// item reads a column of the result.
func (p statements) item() Item {
	i := Item{Position: p.token.Position}
	if p.accept("*") != "" {
		i.Star = true
		return i
	}
	if table, ok := p.starOf(); ok {
		i.Star, i.Table = true, table
		return i
	}
	from := p.from
	i.X = p.expression()
	last := p.previous
	i.Name = p.src[from:p.previous.to]
	if c, ok := i.X.(*Column); ok {
		i.Name = c.Name
	}
	switch {
	case p.accept("AS") != "":
		if p.kind == text {
			p.advance()
			i.Name = p.previous.text
		} else {
			i.Name = p.identifier("an alias")
		}
	case p.kind == text, p.token.isName():
		p.advance()
		i.Name = p.previous.text
		p.checkAlias(last)
	}
	if utf8.RuneCountInString(i.Name) > MaxName {
		fail(i.Position, fmt.Sprintf("the column has a name of more than %d characters", MaxName),
			"Give it an alias: AS name")
	}
	return i
}

// MaxName is the maximum length of the name of a column, in characters.
const MaxName = 64

// starOf reads t.* or s.t.* if it is the next.
func (p statements) starOf() (table string, ok bool) {
	saved := *p.parser
	for p.token.isName() && p.following.is(".") {
		if table != "" {
			table += "."
		}
		table += p.text
		p.advance()
		p.advance()
	}
	if table != "" && p.accept("*") != "" {
		return table, true
	}
	*p.parser = saved
	return "", false
}

// table reads a listener or a query in FROM, with its alias.
func (p statements) table() Table {
	t := Table{Position: p.token.Position}
	if p.accept("(") != "" {
		if !p.is("SELECT", "(") {
			p.refuse("expected SELECT, not "+p.shown(),
				"Joins in parentheses are not supported: write them one after the other")
		}
		t.Sub = p.query()
		p.expect(")")
		p.accept("AS")
		t.Alias = p.identifier("an alias of the query in FROM")
		return t
	}
	t.Name = p.identifier("the name of a listener")
	for p.accept(".") != "" {
		t.Name += "." + p.afterDot("a name")
	}
	t.Alias = t.Name
	if p.accept("AS") != "" || p.token.isName() {
		t.Alias = p.identifier("an alias")
	}
	return t
}

// join reads a joined table and its condition.
func (p statements) join() Join {
	j := Join{Position: p.token.Position, Kind: Inner}
	switch kind := p.accept("INNER", "LEFT", "RIGHT", "FULL"); kind {
	case "LEFT", "RIGHT", "FULL":
		j.Kind = JoinKind(kind)
		p.accept("OUTER")
	}
	p.expect("JOIN")
	j.Table = p.table()
	switch p.accept("ON", "USING") {
	case "ON":
		j.On = p.expression()
	case "USING":
		p.expect("(")
		for more := true; more; more = p.accept(",") != "" {
			at := p.token.Position
			j.Using = append(j.Using, Column{Position: at, Name: p.identifier("a column")})
		}
		p.expect(")")
	default:
		p.refuse(fmt.Sprintf("expected ON or USING, not %s", p.shown()),
			"Every join needs an equality: write ON a.column = b.column")
	}
	return j
}
