package dialect

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// Fields are the own fields of a listener that runs a query.
type Fields struct {
	// Name of one of `databases`
	Database string `yaml:"database" unset:"required" json:"-"`
	// One SELECT, with `:parameter` and `:listener.column`
	Text string `yaml:"query" file:"query_file" need:"Add the SELECT that this listener runs" json:"Query"`
	// Names of the columns of the result, in order. Required if the SELECT does not name them: `*`, WITH, an
	// expression without alias
	Columns []string `yaml:"columns" unset:"as in the SELECT" json:"-"`
	// Read the rows in ranges of a column, on several connections: see [Parts](../guides/spool.md#parts)
	Divide *report.Divide `yaml:"divide" json:"-"`

	// The server that it reads: the database, or its [replica](../guides/protect-sources.md#3-read-from-a-replica)
	ReadFrom report.ReadFrom `yaml:"read_from" enum:"primary,replica" default:"primary" why:"Write primary or replica" json:"-"`

	Query Query `json:"-"` // Text, parsed
}

// Read parses the query of a listener, and takes the columns that the listener lists or the SELECT
// names.
func (d *Dialect) Read(l *kind.Listener) {
	f, at := l.Own.(*Fields), l.Get("query")
	l.Columns = f.Columns
	readFrom(l, f)
	if !l.Has("query") {
		return
	}
	query, whole, wrong := d.read(f.Text)
	l.Whole = whole
	for _, m := range wrong[:min(len(wrong), maxMistakes)] {
		at.Inside(m.at).Problem(m.Message, m.Remedy)
	}
	for _, name := range query.Names() {
		first, listed := query.use(name)
		l.Uses = append(l.Uses, kind.Use{Name: name, List: listed,
			Remedy: fmt.Sprintf("Write IN (:%s)", name), At: at.Inside(first)})
	}
	if wrong != nil {
		return
	}
	f.Query = query
	divide(d, l, f)
	selected, known := query.SelectList()
	switch {
	case l.ColumnsAt.Given() && known && !l.Wrong("columns") && len(l.Columns) != len(selected):
		l.ColumnsAt.Problem(fmt.Sprintf("%d listed, but the query returns %d", len(l.Columns), len(selected)),
			"The query returns "+report.Listing(selected))
		l.Unsure = true
	case l.ColumnsAt.Given():
	case known:
		l.ColumnsAt, l.Columns, l.Known = at, selected, true
		for _, c := range query.columns {
			l.ColumnAt = append(l.ColumnAt, at.Inside(c.at))
		}
	default:
		for _, item := range query.unknown[:min(len(query.unknown), maxMistakes)] {
			at.Inside(item).Problem("the column names cannot be derived from the query",
				"Replace * by the names of the columns and give every expression an alias, "+
					"or add columns: [...] with the names in order")
		}
	}
}

// readFrom sets the source of a listener that reads a replica.
func readFrom(l *kind.Listener, f *Fields) {
	d, known := l.Connection.(report.Database)
	switch {
	case !known || f.ReadFrom != report.FromReplica:
	case d.Replica == "":
		l.Get("read_from").Problem("database "+d.Name+" has no replica",
			"Add replica to databases."+d.Name+", with the DSN of the replica, and protect: {replica_lag: 30s}")
	default:
		l.Source = report.ReplicaOf(d.Name)
	}
}

// divide takes over how the rows are read in parts. A query in parts is a subquery.
func divide(d *Dialect, l *kind.Listener, f *Fields) {
	if f.Divide == nil {
		return
	}
	l.Divide = f.Divide
	if t, wrong := d.limited(f.Text); wrong {
		l.Get("query").Inside(t.at).Problem(strings.ToUpper(t.text)+" in a query that is read in parts",
			"Remove it: the parts come in the order of divide.by. Sort and limit in the fold")
	}
}

// limited returns the word that sorts or limits the rows of a query, or of a query in parentheses of which it consists.
func (d *Dialect) limited(text string) (word token, found bool) {
	tokens, _ := d.tokenize(text)
	depth := 0         // of other parentheses
	begins := true     // a query can begin here
	qualified := false // t.order is a column
	for _, t := range tokens {
		switch {
		case t.kind == tokenSpace:
			continue
		case t.is("(") && (depth > 0 || !begins):
			depth++
		case t.is(")") && depth > 0:
			depth--
		case depth > 0 || qualified:
		case t.is("ORDER"), t.is("LIMIT"), t.is("FETCH"), t.is("OFFSET") && d.Dollars: // MySQL has columns of that name
			return t, true
		}
		begins = t.in(combinations) || begins && (t.is("(") || t.is("ALL") || t.is("DISTINCT"))
		qualified = t.is(".")
	}
	return token{}, false
}

// combinations are the words between two queries.
var combinations = words(`UNION EXCEPT INTERSECT MINUS`)

// In returns a query for the rows of a range of a column of its result. sql is what Bind has returned.
func In(d *Dialect, sql, column string, r report.Range) string {
	name := "part." + quote(d, column)
	var conditions []string
	if r.From != nil {
		conditions = append(conditions, fmt.Sprintf("%s >= %d", name, *r.From))
	}
	if r.To != nil {
		conditions = append(conditions, fmt.Sprintf("%s < %d", name, *r.To))
	}
	where := strings.Join(conditions, " AND ")
	switch {
	case where == "":
		return sql
	case r.From == nil:
		where += " OR " + name + " IS NULL"
	}
	return "SELECT * FROM (" + parts(d, sql) + "WHERE " + where
}

// Ends returns a query for the least and the greatest number in a column of the result. sql is what Bind has returned.
func Ends(d *Dialect, sql, column string) string {
	name := "part." + quote(d, column)
	return "SELECT MIN(" + name + "), MAX(" + name + ") FROM (" + parts(d, sql)
}

// parts returns the rest of a query after FROM ( for the rows of another one.
func parts(d *Dialect, sql string) string { return Unended(d, sql) + "\n) AS part " }

func quote(d *Dialect, name string) string {
	return d.Names[:1] + strings.ReplaceAll(name, d.Names[:1], d.Names[:1]+d.Names[:1]) + d.Names[:1]
}

// QueryOf returns the query of a listener whose own fields are Fields; the zero Query if they are not.
func QueryOf(l *report.Listener) Query {
	if f, ok := l.Own.(*Fields); ok {
		return f.Query
	}
	return Query{}
}
