package dialect

import (
	"errors"
	"fmt"
	"regexp"
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
	columns []column // of the first SELECT; nil: they cannot be known
	unknown []int    // offsets of the items without a name, if columns is nil
	uses    []use    // of the parameters
	dialect *Dialect
}

// maxMistakes is the maximum number of mistakes of a query that are reported.
const maxMistakes = 20

// Parse reads one statement that begins with SELECT, WITH or a
// parenthesis. It checks the SQL only as far as it must to find the
// parameters: closed quotes and comments, one statement, no bare "?".
// The error has all mistakes.
func (d *Dialect) Parse(text string) (Query, error) {
	q, _, wrong := d.read(text)
	if wrong != nil {
		return Query{}, wrong
	}
	return q, nil
}

// read is Parse. If the query has mistakes, it has its parameters at least; with whole, all of them.
func (d *Dialect) read(text string) (q Query, whole bool, wrong mistakes) {
	tokens, end := d.tokenize(text)
	if end != nil { // what follows could be read as something else
		wrong = beginning(tokens)
		return Query{}, false, append(wrong, *end)
	}
	q = Query{Text: text, dialect: d}
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
	var gaps mistakes
	q.columns, q.unknown, gaps = d.selectList(tokens)
	return q, true, append(d.oneStatement(tokens), gaps...)
}

// use returns where a parameter stands, and whether every use of it stands where a list of values is allowed: in
// parentheses or a row, as in IN (:name). The place is the first where no list is allowed, or else the first.
func (q Query) use(name string) (at int, listed bool) {
	first, offset := -1, 0
	for i, n := range q.names {
		offset += len(q.texts[i])
		before := strings.TrimRight(q.texts[i], " \t\r\n")
		switch {
		case n != name:
		case !strings.HasSuffix(before, "(") && !strings.HasSuffix(before, ","):
			return offset, false
		case first < 0:
			first = offset
		}
		offset += len(":" + n)
	}
	return first, true
}

// Unended returns the SQL of a query without the semicolon that ends it, and without comments behind that.
func Unended(d *Dialect, sql string) string {
	tokens, _ := d.tokenize(sql)
	for _, t := range tokens {
		if t.is(";") {
			return sql[:t.at]
		}
	}
	return sql
}

// beginning proves that the tokens begin as a statement that only reads data.
func beginning(tokens []token) mistakes {
	i := slices.IndexFunc(tokens, func(t token) bool { return t.kind != tokenSpace })
	if i < 0 {
		return nil
	}
	if first := tokens[i]; !first.is("SELECT") && !first.is("WITH") && !first.is("(") && !first.is(";") {
		return mistakes{{report.Mistake{Message: "the query begins with " + report.ShortenTo(first.text, 20),
			Remedy: "A query only reads rows: begin it with SELECT, WITH or ("}, first.at}}
	}
	return nil
}

// oneStatement proves that the tokens are one statement that only reads data.
func (d *Dialect) oneStatement(tokens []token) mistakes {
	wrong := beginning(tokens)
	add := func(at int, message, remedy string) {
		wrong = append(wrong, mistake{report.Mistake{Message: message, Remedy: remedy}, at})
	}
	var open []int // offsets of the parentheses
	empty, ended, change := true, false, findChange(tokens)
	for i, t := range tokens {
		switch {
		case t.kind == tokenSpace:
			continue
		case ended:
			add(t.at, fmt.Sprintf("more than one statement (at %q)", "; "+t.text),
				"Keep one SELECT: another query needs a listener of its own")
			return wrong
		case t.is(";"):
			ended = true
			continue
		case t.is("?") && !d.Dollars, t.kind == tokenPunct && t.text[0] == '$':
			add(t.at, fmt.Sprintf("a %s has no value", t.text),
				"Write :name, and declare name in the report's parameters")
		case t.is("INTO"):
			add(t.at, "the query has INTO, which writes to a file or variable of the server",
				"Remove it: a query must return its rows")
		case i == change:
			add(t.at, t.text+" changes data", "Remove it: a query must only read")
		case t.is("("):
			open = append(open, t.at)
		case t.is(")") && len(open) == 0:
			add(t.at, "a ) has no matching (", "Add the (, or remove it")
		case t.is(")"):
			open = open[:len(open)-1]
		}
		empty = false
	}
	if empty {
		add(0, "the query is empty", "Write a SELECT")
	}
	for _, at := range open {
		add(at, "a ( has no matching )", "Add the ), or remove it")
	}
	return wrong
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
func (q Query) SelectList() ([]string, bool) {
	var names []string
	for _, c := range q.columns {
		names = append(names, c.name)
	}
	return names, names != nil
}

// Place returns the byte of Text that a byte of the SQL comes from, which Bind has made of Text for PostgreSQL. For a
// placeholder, it is the parameter, or the IN that became = ANY.
func (q Query) Place(sql string, at int) int {
	text, from, to := q.texts[0], 0, 0 // the next text, where it is in Text, and where in the SQL
	for i, name := range q.names {
		before, after, isArray := 0, 0, false
		if in := q.uses[i].list; in != nil && !strings.HasPrefix(sql[min(to, len(sql)):], text) {
			before, after, isArray = in.before, in.after, true
		}
		kept := len(text) - before
		if at < to+kept {
			return from + at - to
		}
		to += kept
		end := strings.IndexByte(sql[min(to, len(sql)):], ')') + 1
		if !isArray {
			end = len(placeholder.FindString(sql[min(to, len(sql)):]))
			if q.uses[i].tested {
				end += len("::text")
			}
		}
		if at < to+end {
			return from + kept
		}
		to += end
		from += len(text) + len(":"+name) + after
		text = q.texts[i+1][after:]
	}
	return min(from+at-to, len(q.Text))
}

var placeholder = regexp.MustCompile(`^\$[0-9]+`)

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
