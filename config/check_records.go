package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

var columnForm = regexp.MustCompile(`^[A-Za-z0-9_$]{1,64}$`)

// check proves that the table of the records can have what Fanfold writes.
func (f recordFields) check(c *Config) Records {
	r := f.Records
	r.Parameters = c.Limits.Parameters
	f.refer("database", r.Database, "databases", sortedKeys(c.Databases))
	r.Columns, r.Statuses = f.checkColumns(), f.checkStatuses()
	return r
}

func (f recordFields) checkColumns() map[string]string {
	var columns map[string]string
	taken := map[string]string{} // the table's column → Fanfold's
	for _, p := range f.Columns {
		required, known := RecordColumns[p.Name]
		other := taken[strings.ToLower(p.Value)]
		switch {
		case !known:
			p.problem("a record has no such column", didYouMean(p.Name, sortedKeys(RecordColumns)))
			continue
		case p.wrong[""]:
			continue
		case p.Value == "-" && required:
			p.problem("a column that a record must have", "Name the table's column, or add one to the table")
		case p.Value == "-":
		case !columnForm.MatchString(p.Value):
			p.problem("not a valid name of a column", "Use up to 64 letters, digits, _ and $, without quotes")
		case other != "":
			p.problem("the same column as for "+other, "Each needs a column of its own")
		default:
			taken[strings.ToLower(p.Value)] = p.Name
		}
		if columns == nil {
			columns = map[string]string{}
		}
		columns[p.Name] = p.Value
	}
	return columns
}

func (f recordFields) checkStatuses() map[string]string {
	if len(f.Statuses) == 0 {
		return nil
	}
	all := texts(report.Statuses)
	statuses, values, places := map[string]string{}, map[string]string{}, map[string]setting{}
	for _, s := range all {
		values[s] = s // a status that is not mapped is its own value
	}
	for _, p := range f.Statuses {
		if !slices.Contains(all, p.Name) {
			p.problem("a record has no such status", didYouMean(p.Name, all))
		} else if !p.wrong[""] {
			statuses[p.Name], values[p.Name], places[p.Name] = p.Value, p.Value, p.setting
		}
	}
	for i, status := range all {
		for _, other := range all[i+1:] {
			// As MySQL's usual collations compare.
			if !strings.EqualFold(values[status], values[other]) {
				continue
			}
			at, ok := places[other]
			if !ok {
				at = places[status]
			}
			at.problem(fmt.Sprintf("%s and %s have the same value", status, other), "Give each status a value of its own")
		}
	}
	return statuses
}

// checkPartial proves that the table has a value for PARTIAL if a job can end so.
func (f recordFields) checkPartial(c *Config) {
	for _, name := range sortedKeys(c.Reports) {
		if !c.Reports[name].CanOmit() {
			continue
		}
		c.Records.Partial = true
		if _, ok := c.Records.Statuses[string(report.Partial)]; !ok && len(c.Records.Statuses) > 0 {
			at := f.setting
			at.path = child(at.path, "statuses")
			at.problem(fmt.Sprintf("no value for PARTIAL, as which a job of report %s can end: one of its listeners has on_failure", name),
				"Add PARTIAL: VALUE, or make all listeners required")
		}
		return
	}
}
