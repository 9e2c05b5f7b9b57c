package starter

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/report"
)

// prepare writes the queries of a pick and asks the databases to prepare them.
func (p *pick) prepare(ctx context.Context, now time.Time) error {
	p.queries()
	if p.Date != nil {
		p.since(ctx, now)
	}
	err := p.Facts.prepare(ctx, p.FactsSQL)
	if p.Other != nil && err == nil {
		err = p.Other.prepare(ctx, p.OtherSQL)
	}
	return err
}

func (p *pick) queries() {
	p.FactsSQL = "SELECT " + p.columns(p.Facts, p.Key) + "\nFROM " + quoted(p.Facts.Name)
	if p.Date == nil {
		p.FactsSQL += fmt.Sprintf("\nLIMIT %d", maxRows)
	} else {
		p.FactsSQL += "\nWHERE " + quoted(p.Date.Name) + " >= :from\nORDER BY " + quoted(p.Date.Name)
	}
	if p.Other != nil {
		p.OtherSQL = "SELECT " + p.columns(p.Other, p.Same) + "\nFROM " + quoted(p.Other.Name) +
			"\nWHERE " + quoted(p.Same.Name) + " IN (:" + p.Facts.Listener() + "." + p.Key.Name + ")"
	}
}

// maxRows is the LIMIT of a query without a condition.
const maxRows = 10_000

func quoted(name string) string { return "`" + name + "`" }

// columns lists the columns of a query. The key comes first, under its name in the facts. The other
// table leaves out names that the facts have.
func (p *pick) columns(t *table, key *column) string {
	var list []string
	if key != nil {
		list = append(list, quoted(key.Name))
		if key.Name != p.Key.Name {
			list[0] += " AS " + quoted(p.Key.Name)
		}
	}
	for _, c := range t.shown(key) {
		if t == p.Facts || p.Facts.find(c.Name) == nil {
			list = append(list, quoted(c.Name))
		}
	}
	return strings.Join(list, ", ")
}

// prepare asks the database whether it accepts a query.
func (t *table) prepare(ctx context.Context, query string) error {
	if _, err := dialect.MySQL.Parse(query); err != nil {
		return err
	}
	return t.of.reading(ctx, func(ctx context.Context, tx *sql.Tx) error {
		prepared, err := tx.PrepareContext(ctx, parameter.ReplaceAllString(query, "NULL"))
		if err != nil {
			return err
		}
		return prepared.Close()
	})
}

// parameter matches the parameters of the queries that this package writes.
var parameter = regexp.MustCompile(`:[a-zA-Z][A-Za-z0-9_.]*`)

// span is the default time range of the first report.
const span = 30 * 24 * time.Hour

// since sets the default of the parameter: 30 days before the newest row if an index finds that row,
// otherwise 30 days before now.
func (p *pick) since(ctx context.Context, now time.Time) {
	at := now
	if p.Date.Indexed {
		var newest string
		_ = p.Facts.of.reading(ctx, func(ctx context.Context, tx *sql.Tx) error { // after an error, the date stays now
			return tx.QueryRowContext(ctx, "SELECT COALESCE(MAX("+quoted(p.Date.Name)+"), '') FROM "+
				quoted(p.Facts.Name)).Scan(&newest)
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
