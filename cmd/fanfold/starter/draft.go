package starter

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// draft is a report whose queries the databases accept.
type draft struct {
	pick
	factsSQL, otherSQL string   // their queries
	from               string   // the parameter's default; with a date only
	newest             bool     // from was computed from the newest row
	others             []string // more tables that could be joined
}

// draft writes the queries of a pick and asks the databases to prepare them. It quotes names only if
// a database needs that.
func (s *Starter) draft(ctx context.Context, pools map[*source]*sql.DB, p pick) (*draft, error) {
	d := &draft{pick: p}
	var err error
	if d.factsSQL, err = prepared(ctx, pools[p.facts.of], p.facts, d.factsQuery); err != nil {
		return nil, err
	}
	if p.other != nil {
		if d.otherSQL, err = prepared(ctx, pools[p.other.of], p.other, d.otherQuery); err != nil {
			return nil, err
		}
	}
	if p.date != nil {
		d.from, d.newest = s.since(ctx, pools[p.facts.of], p)
	}
	return d, nil
}

// prepared returns a query of a table that its database accepts, with as few quoted names as possible.
func prepared(ctx context.Context, db *sql.DB, t *table, query func(quote func(string) string) string) (text string, err error) {
	for _, quote := range []func(string) string{bare, quoted} {
		text = query(quote)
		var q report.Query
		if q, err = report.ParseQuery(text); err != nil {
			continue
		}
		var statement string
		statement, _, err = q.Bind(func(name string) (any, bool) {
			if strings.Contains(name, ".") {
				return report.Literals("NULL"), true
			}
			return nil, true
		})
		if err != nil {
			continue
		}
		err = reading(ctx, db, func(tx *sql.Tx) error {
			prepared, err := tx.PrepareContext(ctx, statement)
			if err != nil {
				return err
			}
			return prepared.Close()
		})
		if err == nil {
			return text, nil
		}
	}
	return "", fmt.Errorf("query of %s: %w", listenerName(t), t.of.explain(err))
}

var (
	simple = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// Names that are values, not columns, unless they are quoted.
	values = regexp.MustCompile(`(?i)^(current_\w+|localtime|localtimestamp|utc_\w+|true|false|null|default|unknown)$`)
)

// bare returns a name, quoted only if it must be.
func bare(name string) string {
	if simple.MatchString(name) && !values.MatchString(name) {
		return name
	}
	return quoted(name)
}

func quoted(name string) string { return "`" + name + "`" }

// maxRows is the LIMIT of a query without a condition.
const maxRows = 10_000

// factsQuery returns the query of the facts.
func (d *draft) factsQuery(quote func(string) string) string {
	var list []string
	if d.key != nil {
		list = append(list, quote(d.key.name))
	}
	for _, c := range d.facts.shown(d.key) {
		list = append(list, quote(c.name))
	}
	text := "SELECT " + strings.Join(list, ", ") + "\nFROM " + quote(d.facts.name)
	if d.date == nil {
		return text + fmt.Sprintf("\nLIMIT %d", maxRows)
	}
	return text + "\nWHERE " + quote(d.date.name) + " >= :from\nORDER BY " + quote(d.date.name)
}

// otherQuery returns the query that looks up the keys of the facts.
func (d *draft) otherQuery(quote func(string) string) string {
	by := quote(d.same.name)
	list := []string{by}
	if d.same.name != d.key.name {
		list[0] += " AS " + quote(d.key.name)
	}
	for _, c := range d.other.shown(d.same) {
		if c.name != d.key.name {
			list = append(list, quote(c.name))
		}
	}
	return "SELECT " + strings.Join(list, ", ") + "\nFROM " + quote(d.other.name) +
		"\nWHERE " + by + " IN (:" + listenerName(d.facts) + "." + d.key.name + ")"
}

// span is the default time range of the first report.
const span = 30 * 24 * time.Hour

// since returns the default of the parameter: 30 days before the newest row if an index finds that
// row, otherwise 30 days before now.
func (s *Starter) since(ctx context.Context, db *sql.DB, p pick) (date string, newest bool) {
	at := s.now
	if p.date.indexed {
		_ = reading(ctx, db, func(tx *sql.Tx) error { // after an error, the date stays now
			return each(ctx, tx, "SELECT MAX("+quoted(p.date.name)+") FROM "+quoted(p.facts.name), func(row []string) {
				if found, err := time.Parse(time.DateOnly, row[0][:min(len(row[0]), 10)]); err == nil && found.Before(s.now) {
					at, newest = found, true
				}
			})
		})
	}
	return at.Add(-span).Format(time.DateOnly), newest
}

var notInListener = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// listenerName returns <database>.<table> with the characters that the name of a listener can have.
func listenerName(t *table) string {
	part := func(text string) string {
		text = notInListener.ReplaceAllString(text, "_")
		if text == "" || text[0] >= '0' && text[0] <= '9' {
			text = "t" + text
		}
		return text[:min(len(text), report.MaxListener/2-1)]
	}
	return part(t.of.name) + "." + part(t.name)
}
