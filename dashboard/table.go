package dashboard

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/words"
)

// listing defines a table: its columns, and what its rows R are. The state of a table is in the address of its page:
// sort, page, size, columns and only, each after the prefix of the table.
type listing[R any] struct {
	name    string // of its element in the page
	label   string // says what the rows are
	path    string // of its page
	prefix  string // of its parameters; empty: it is the first table of the page
	columns []column[R]
	key     func(R) string // identifies a row
	size    int            // default number of rows of a page; 0: defaultSize
	prepare func([]R)      // completes the rows that are shown; nil: they are complete
}

// column is a column of a table.
type column[R any] struct {
	key, title string
	class      string           // of its cells; those with numbers are sorted from the largest one first
	order      func(a, b R) int // nil: the table cannot be sorted by it
	cell       func(R) cell     // what it shows of a row
	operator   bool             // only operators see it
}

// cell is what a column shows of a row.
type cell struct {
	Label, Class string // of its column
	Kind         string // in a frame before the text; empty: none
	Text         string
	At           int64  // Unix milliseconds of the time in the text, in UTC; 0: it has none
	Bar          int    // in percent, before the text; 0: none
	To           string // path of the page to which the text links; empty: none
	Chip         string // class of the chip with the text; empty: it is no chip
	Code         bool   // the text is code
	Chips        []chip // after the text
	Soft         string // less prominent, after that
	Acts         []act
}

// act is a button that changes a row.
type act struct {
	Label, Of string // what it does, and to what
	To        string // path of the change
	Asks      bool   // a page asks first
	Fields    []field
}

// table is a listing in the state that a request asks for.
type table struct {
	Name, Label     string
	Heads           []head
	Rows            []tableRow
	Here            string       // path of the page
	Prefix          string       // of its parameters
	Columns         []choice     // all columns that a user may see
	Sizes           []choice     // numbers of rows
	Kept            []field      // the other parameters of the page
	Changes         []bulkChange // of selected rows
	keys            []string     // of all rows, also of those on other pages
	Only            string       // the key of the only row that it shows; empty: it shows all
	All             string       // path of the page with all rows
	From, To, Total int          // the first and the last row that it shows, and how many it has
	Previous, Next  string       // paths of the neighbouring pages; empty: none
}

// head is the head of a column.
type head struct {
	Title, Class string
	To           string // path of the page that is sorted by it; empty: it is not sorted by it
	Sorted       string // ascending or descending; empty: the table is not sorted by it
}

// choice is one of several values of a parameter.
type choice struct {
	Value, Title string
	Chosen       bool
}

type tableRow struct {
	Key   string
	Cells []cell
}

// defaultSize is the number of rows of a page of a table, and maxSize its maximum.
const defaultSize, maxSize = 100, 200

// of returns the table in the state that a request asks for. It sorts the rows.
func (l listing[R]) of(r *http.Request, rows []R) table {
	q := r.URL.Query()
	get := func(name string) string { return q.Get(l.prefix + name) }
	t := table{Name: l.name, Label: l.label, Prefix: l.prefix, Only: get("only"), All: l.path}
	if t.Only != "" {
		rows = slices.DeleteFunc(rows, func(one R) bool { return l.key(one) != t.Only })
	}
	t.Total, t.Here = len(rows), l.path+"?"+without(q, "message").Encode()
	columns := l.chosen(r, &t)
	by, down := strings.CutPrefix(get("sort"), "-")
	for _, c := range columns {
		h := head{Title: c.title, Class: c.class}
		if c.order != nil {
			next := c.key
			if c.class == "number" {
				next = "-" + c.key
			}
			if c.key == by {
				slices.SortStableFunc(rows, func(a, b R) int {
					if down {
						a, b = b, a
					}
					return c.order(a, b)
				})
				h.Sorted, next = "ascending", "-"+c.key
				if down {
					h.Sorted, next = "descending", c.key
				}
			}
			h.To = l.link(q, "sort", next)
		}
		t.Heads = append(t.Heads, h)
	}
	size := cmp.Or(l.size, defaultSize)
	if n, err := strconv.Atoi(get("size")); err == nil && n > 0 {
		size = min(n, maxSize)
	}
	sizes := []int{cmp.Or(l.size, 25), 25, 50, defaultSize, maxSize}
	for _, n := range slices.Compact(sizes) {
		t.Sizes = append(t.Sizes, choice{Value: strconv.Itoa(n), Chosen: n == size})
	}
	own := []string{"message", l.prefix + "page", l.prefix + "size", l.prefix + "columns"}
	for name, values := range without(q, own...) {
		for _, value := range values {
			t.Kept = append(t.Kept, field{name, value})
		}
	}
	slices.SortFunc(t.Kept, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	page, _ := strconv.Atoi(get("page"))
	page = min(max(page, 1), max((len(rows)+size-1)/size, 1))
	if page > 1 {
		t.Previous = l.link(q, "page", strconv.Itoa(page-1))
	}
	first, end := (page-1)*size, min(page*size, len(rows))
	if end < len(rows) {
		t.Next = l.link(q, "page", strconv.Itoa(page+1))
	}
	t.From, t.To = first+1, end
	if access.Of(r.Context()).Operator() {
		t.Changes = bulkChanges[l.name]
		for _, one := range rows {
			t.keys = append(t.keys, l.key(one))
		}
	}
	shown := rows[first:end]
	if l.prepare != nil {
		l.prepare(shown)
	}
	for _, one := range shown {
		row := tableRow{Key: l.key(one)}
		for _, c := range columns {
			made := c.cell(one)
			made.Label, made.Class = c.title, c.class
			row.Cells = append(row.Cells, made)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// chosen returns the columns that the parameter columns names, in the order of the table; without it, all that a user
// may see. The first column names the row, and is always there.
func (l listing[R]) chosen(r *http.Request, t *table) (shown []column[R]) {
	wanted := r.URL.Query()[l.prefix+"columns"]
	if len(wanted) == 1 {
		wanted = strings.Split(wanted[0], ",")
	}
	for i, c := range l.columns {
		if c.operator && !access.Of(r.Context()).Operator() {
			continue
		}
		chosen := len(wanted) == 0 || slices.Contains(wanted, c.key)
		if i > 0 {
			t.Columns = append(t.Columns, choice{c.key, c.title, chosen})
		}
		if i == 0 || chosen {
			shown = append(shown, c)
		}
	}
	return shown
}

// link returns the path of the same view with another value of a parameter of the table. Only that of another page
// keeps the number of the page.
func (l listing[R]) link(q url.Values, name, value string) string {
	to := without(q, "message", l.prefix+"page")
	to.Set(l.prefix+name, value)
	return l.path + "?" + to.Encode()
}

// without returns parameters without some of them.
func without(q url.Values, names ...string) url.Values {
	left := maps.Clone(q)
	maps.DeleteFunc(left, func(name string, _ []string) bool { return slices.Contains(names, name) })
	return left
}

// by orders rows by a value.
func by[R any, V cmp.Ordered](value func(R) V) func(a, b R) int {
	return func(a, b R) int { return cmp.Compare(value(a), value(b)) }
}

// byTime orders rows by a time; those without one are the first.
func byTime[R any](value func(R) *time.Time) func(a, b R) int {
	return func(a, b R) int {
		var times [2]time.Time
		for i, t := range []*time.Time{value(a), value(b)} {
			if t != nil {
				times[i] = *t
			}
		}
		return times[0].Compare(times[1])
	}
}

// byID orders rows by an id: numbers by their value.
func byID[R any](id func(R) string) func(a, b R) int {
	return func(a, b R) int {
		x, y := id(a), id(b)
		if strings.Trim(x+y, "0123456789") == "" {
			return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		}
		return cmp.Compare(x, y)
	}
}

// text returns a function that makes a cell with a text.
func text[R any](of func(R) string) func(R) cell {
	return func(r R) cell { return cell{Text: of(r)} }
}

// counted returns a column that has a number.
func counted[R any, N int | int64 | float64](key, title string, of func(R) N) column[R] {
	return column[R]{
		key: key, title: title, class: "number", order: by(of), cell: text(func(r R) string { return count(of(r)) }),
	}
}

// jobLink is a cell that links to a job.
func jobLink(id string) cell { return cell{Text: id, To: "/jobs/" + id} }

// whenColumn is a column with a time, also relative to now.
func whenColumn[R any](key, title string, now time.Time, of func(R) *time.Time) column[R] {
	return column[R]{key: key, title: title, class: "time", order: byTime(of), cell: func(r R) cell {
		at := of(r)
		if at == nil {
			return cell{}
		}
		return cell{Text: words.Stamp(*at), Soft: words.When(*at, now)}
	}}
}
