package starter

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

func (p *pick) queries() {
	p.FactsSQL = "SELECT " + p.columns(p.Facts, p.Key) + "\nFROM " + p.Facts.Text
	if p.Date == nil {
		p.FactsSQL += fmt.Sprintf("\nLIMIT %d", maxRows)
	} else {
		p.FactsSQL += "\nWHERE " + p.Facts.quoted(p.Date) + " >= :from\nORDER BY " + p.Facts.quoted(p.Date)
	}
	if p.Other != nil {
		p.OtherSQL = "SELECT " + p.columns(p.Other, p.Same) + "\nFROM " + p.Other.Text +
			"\nWHERE " + p.Other.quoted(p.Same) + " IN (:" + p.Facts.Listener() + "." + p.Key.Name + ")"
	}
}

// maxRows is the LIMIT of a query without a condition.
const maxRows = 10_000

// quoted returns the name of a column as a query has it.
func (t *table) quoted(c *kind.Column) string { return t.of.kind.Init.Quote(c.Name) }

// columns lists the columns of a query. The key comes first, under its name in the facts. The other
// table leaves out names that the facts have.
func (p *pick) columns(t *table, key *kind.Column) string {
	var list []string
	if key != nil {
		list = append(list, t.quoted(key))
		if key.Name != p.Key.Name {
			list[0] += " AS " + t.quoted(p.Key)
		}
	}
	for _, c := range t.shown(key) {
		if t == p.Facts || p.Facts.find(c.Name) == nil {
			list = append(list, t.quoted(c))
		}
	}
	return strings.Join(list, ", ")
}

// span is the default time range of the first report.
const span = 30 * 24 * time.Hour

// since sets the default of the parameter: 30 days before the newest row if an index finds that row,
// otherwise 30 days before now.
func (p *pick) since(ctx context.Context, now time.Time) {
	at := now
	if p.Date.Indexed {
		var newest string
		_ = p.Facts.of.asking(ctx, func(ctx context.Context) (err error) { // after an error, the date stays now
			newest, err = p.Facts.of.db.Newest(ctx, p.Facts.Table, p.Date.Name)
			return err
		})
		if found, err := time.Parse(time.DateOnly, newest[:min(len(newest), len(time.DateOnly))]); err == nil &&
			found.Before(now) {
			at = found
		}
	}
	p.From = at.Add(-span).Format(time.DateOnly)
}

var notInListener = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// Listener returns <database>.<table> with the characters that the name of a listener can have.
func (t *table) Listener() string {
	part := func(text string) string {
		text = notInListener.ReplaceAllString(text, "_")
		if text == "" || text[0] >= '0' && text[0] <= '9' {
			text = "t" + text
		}
		return text[:min(len(text), report.MaxListener/2-1)]
	}
	return part(t.of.Name) + "." + part(t.Name)
}
