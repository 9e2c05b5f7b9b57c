package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Query is the SQL of a listener. Its parameters are written :name, or
// :listener.column for values of an earlier stage. Colons in strings, quoted
// names and comments are literal. The zero Query is empty. A Query is immutable
// and safe for concurrent use.
type Query struct {
	Text string // as written

	texts   []string // around the parameters, one more than names
	names   []string // of the parameters, in order, with repetitions
	uses    []use    // of them
	columns []string // of the first SELECT
	known   bool     // columns could be derived
	dialect *Dialect
}

// Parse reads one statement that begins with SELECT, WITH or a
// parenthesis. It checks the SQL only as far as it must to find the
// parameters: closed quotes and comments, one statement, no bare "?".
func (d *Dialect) Parse(text string) (Query, error) {
	tokens, err := d.tokenize(text)
	if err != nil {
		return Query{}, err
	}
	if err := d.oneStatement(tokens); err != nil {
		return Query{}, err
	}
	q := Query{Text: text, dialect: d}
	var between strings.Builder
	for i, t := range tokens {
		if t.kind != tokenParameter {
			between.WriteString(t.text)
			continue
		}
		q.texts = append(q.texts, between.String())
		q.names = append(q.names, t.text[1:])
		q.uses = append(q.uses, use{listedAt(tokens, i), isTested(tokens[i+1:])})
		between.Reset()
	}
	q.texts = append(q.texts, between.String())
	q.columns, q.known = d.selectList(tokens)
	return q, nil
}

// Listed reports whether every use of a parameter stands where a list of values
// is allowed: in parentheses or a row, as in IN (:name).
func (q Query) Listed(name string) bool {
	for i, n := range q.names {
		before := strings.TrimRight(q.texts[i], " \t\r\n")
		if n == name && !strings.HasSuffix(before, "(") && !strings.HasSuffix(before, ",") {
			return false
		}
	}
	return true
}

// oneStatement proves that the tokens are one statement that only reads data.
func (d *Dialect) oneStatement(tokens []token) error {
	var first, end token
	var open []int // offsets of the parentheses
	next, begin, change := 0, 0, findChange(tokens)
	wrong := func(at int, format string, args ...any) error { return &mistake{fmt.Errorf(format, args...), at} }
	for i, t := range tokens {
		at := next
		if next += len(t.text); t.kind == tokenSpace {
			continue
		}
		if first.text == "" {
			first, begin = t, at
		}
		switch {
		case end.text != "":
			return wrong(at, "more than one statement (at %q)", "; "+t.text)
		case t.is(";"):
			end = t
		case t.is("?") && !d.Dollars, t.kind == tokenPunct && t.text[0] == '$':
			return wrong(at, "a %s has no value: write :name, and declare name in the report's parameters", t.text)
		case t.is("INTO"):
			return wrong(at, "the query has INTO, which writes to a file or variable of the server: remove it, because a query must return its rows")
		case i == change:
			return wrong(at, "%s %w", t.text, errWrites)
		case t.is("("):
			open = append(open, at)
		case t.is(")") && len(open) == 0:
			return wrong(at, "a ) has no matching (")
		case t.is(")"):
			open = open[:len(open)-1]
		}
	}
	switch {
	case first.text == "" || first.is(";"):
		return wrong(begin, "the query is empty")
	case !first.is("SELECT") && !first.is("WITH") && !first.is("("):
		return wrong(begin, "the query begins with %s: it must begin with SELECT, WITH or (",
			report.ShortenTo(first.text, 20))
	case len(open) > 0:
		return wrong(open[len(open)-1], "a ( has no matching )")
	}
	return nil
}

// Names returns the names of the parameters, without colon and duplicates, in
// the order of their first use.
func (q Query) Names() []string {
	var names []string
	for _, name := range q.names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// offset returns the byte where a parameter stands first.
func (q Query) offset(name string) int {
	at := 0
	for i, n := range q.names {
		if at += len(q.texts[i]); n == name {
			break
		}
		at += len(":" + n)
	}
	return at
}

// Uses returns how often a parameter occurs.
func (q Query) Uses(name string) int {
	n := 0
	for _, used := range q.names {
		if used == name {
			n++
		}
	}
	return n
}

// SelectList returns the names of the columns of the first SELECT: an alias, or the
// last part of a column's name. It returns false if only the server knows them: for
// *, t.*, an expression without alias, or WITH.
func (q Query) SelectList() ([]string, bool) { return slices.Clone(q.columns), q.known }

// Literals is a list of values as SQL text, separated by commas. The caller must quote every
// value.
type Literals string

// Bind returns the SQL with a placeholder for every parameter, and the arguments. value
// returns the value for a name, or false if there is none, which is an error. A
// []any becomes one placeholder for every element, an Array becomes one for all, and Literals are inserted unchanged.
// If a list or Literals are empty, they become NULL, so that IN (NULL) finds nothing.
func (q Query) Bind(value func(name string) (any, bool)) (sql string, args []any, err error) {
	if len(q.texts) == 0 {
		return "", nil, errors.New("the query is empty")
	}
	var out strings.Builder
	numbers := map[string]int{} // of the arguments, by name
	add := func(name string, v any) {
		n := numbers[name]
		if n == 0 || !q.dialect.Dollars {
			args = append(args, v)
			n = len(args)
			numbers[name] = n
		}
		out.WriteString(q.dialect.Placeholder(n))
	}
	text := q.texts[0]
	for i, name := range q.names {
		v, ok := value(name)
		if !ok {
			return "", nil, fmt.Errorf("query parameter :%s has no value", name)
		}
		list, isList := v.([]any)
		literals, isText := v.(Literals)
		_, isArray := v.(Array)
		next := q.texts[i+1]
		if in := q.uses[i].list; isArray && in != nil {
			out.WriteString(text[:len(text)-in.before] + in.operator())
			add(name, v)
			out.WriteString(")")
			text = next[in.after:]
			continue
		}
		out.WriteString(text)
		text = next
		switch {
		case isText && literals != "":
			out.WriteString(string(literals))
		case q.uses[i].tested && q.dialect.Dollars:
			args = append(args, v)
			out.WriteString(q.dialect.Placeholder(len(args)) + "::text")
		case !isList && !isText:
			add(name, v)
		case len(list) == 0:
			out.WriteString("NULL")
		default:
			for i, v := range list {
				if i > 0 {
					out.WriteString(", ")
				}
				args = append(args, v)
				out.WriteString(q.dialect.Placeholder(len(args)))
			}
		}
	}
	out.WriteString(text)
	return out.String(), args, nil
}
