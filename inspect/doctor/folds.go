package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
)

// checkColumns compares the columns of a query with those that the configuration lists. A job would fail.
func (d *doctor) checkColumns(ctx context.Context, db Database, r *report.Report, l *report.Listener) Findings {
	check := "columns " + r.Name + " / " + l.Name
	columns, err := db.Columns(ctx, r, l)
	switch {
	case errors.Is(err, fault.Underivable) && columns == nil:
		return Findings{newFinding(check, Warn, "", err, fmt.Sprintf("check the columns with fanfold run, or change "+
			"the query of %s:%d so that the server takes it in FROM (…) with 0 for its parameters", l.File, l.Line))}
	case errors.Is(err, fault.Underivable):
		return append(Findings{newFinding("collations "+r.Name+" / "+l.Name, Warn, "",
			fmt.Errorf("%w; they compare by their bytes", err),
			fmt.Sprintf("change the query of %s:%d so that the server takes it in FROM (…) with 0 for its "+
				"parameters, or write COLLATE after these texts in the fold", l.File, l.Line))}, d.compareColumns(r, l, columns)...)
	case err != nil:
		return Findings{newFinding(check, Fail, "", err, fmt.Sprintf("correct the query of %s:%d", l.File, l.Line))}
	}
	return d.compareColumns(r, l, columns)
}

// compareColumns compares columns, if they are known, with those that the configuration lists.
func (d *doctor) compareColumns(r *report.Report, l *report.Listener, columns []dataset.Column) Findings {
	if columns == nil {
		return nil
	}
	var given []string
	for _, c := range columns {
		given = append(given, c.Name)
	}
	if slices.Equal(given, l.Columns) {
		d.columns[l] = columns
		return checkDivide(r, l, columns)
	}
	var missing, more []string
	for _, name := range l.Columns {
		if !slices.Contains(given, name) {
			missing = append(missing, name)
		}
	}
	for _, name := range given {
		if !slices.Contains(l.Columns, name) {
			more = append(more, name)
		}
	}
	var detail, hint string
	switch {
	case missing != nil:
		detail = fmt.Sprintf("the query gives no column %s", report.Listing(missing))
		hint = report.DidYouMean(missing[0], given)
	case more != nil:
		detail = fmt.Sprintf("the query also gives %s, which columns does not list", report.Listing(more))
	default:
		detail = "the query gives the columns in another order: " + report.Listing(given)
	}
	if hint != "" {
		hint += "; or "
	}
	hint += fmt.Sprintf("write columns: [%s] in %s:%d, or change the query", strings.Join(given, ", "), l.File, l.Line)
	return Findings{newFinding("columns "+r.Name+" / "+l.Name, Fail, "", errors.New(detail), hint)}
}

// checkDivide checks that the column of the ranges has whole numbers. A job would fail.
func checkDivide(r *report.Report, l *report.Listener, columns []dataset.Column) Findings {
	for _, c := range columns {
		whole := c.Kind == report.KindInteger || c.Kind == report.KindDecimal && c.Scale == 0
		if l.Divide != nil && l.Divide.By == c.Name && !whole {
			return Findings{newFinding("parts "+r.Name+" / "+l.Name, Fail, "",
				fmt.Errorf("divide.by: column %s is %s, not whole numbers", c.Name, c.Kind),
				fmt.Sprintf("name a column with whole numbers in %s:%d, or remove divide", l.File, l.Divide.Line))}
		}
	}
	return nil
}

// checkFolds plans the folds of the reports with the types that the queries give: package config, which has checked
// them, does not know these.
func checkFolds(_ context.Context, d *doctor) (fs Findings) {
	planned := 0
	for _, name := range slices.Sorted(maps.Keys(d.Config.Reports)) {
		r := d.Config.Reports[name]
		sets, known, place := map[string]fold.Dataset{}, false, ""
		for _, l := range r.Listeners() {
			if place == "" {
				place = fmt.Sprintf("%s:%d", l.File, r.Line)
			}
			if columns, ok := d.columns[l]; ok {
				known, sets[l.Name] = true, fold.Typed(columns)
			} else {
				sets[l.Name] = fold.Empty(l)
			}
		}
		if !known {
			continue
		}
		planned++
		if _, err := fold.NewPlan(r, sets, nil); err != nil {
			fs = append(fs, newFinding("fold "+name, Fail, "", err,
				fmt.Sprintf("correct the fold of report %s (%s), or the types in its queries", name, place)))
		}
	}
	switch {
	case fs == nil && planned == 0:
		return Findings{pass("folds", "not checked: the types of no query are known")}
	case fs == nil:
		return Findings{pass("folds", words.Count(planned, "report")+" can be planned with the types of the queries")}
	}
	return fs
}
