package dialect

import (
	"fmt"

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

	Query Query `json:"-"` // Text, parsed
}

// Read parses the query of a listener, and takes the columns that the listener lists or the SELECT
// names.
func (d *Dialect) Read(l *kind.Listener) {
	f, at := l.Own.(*Fields), l.Get("query")
	l.Columns = f.Columns
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

// QueryOf returns the query of a listener whose own fields are Fields; the zero Query if they are not.
func QueryOf(l *report.Listener) Query {
	if f, ok := l.Own.(*Fields); ok {
		return f.Query
	}
	return Query{}
}
