package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

var columnForm = regexp.MustCompile("^" + Identifier + "$")

// check proves that the table of the records can have what Fanfold writes.
func (f recordFields) check(c *Config) Records {
	r := f.Records
	r.Parameters = c.Limits.Parameters
	refer(f.Section, "database", r.Database, "databases", sortedKeys(c.Databases))
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
			p.Problem("a record has no such column", decode.DidYouMean(p.Name, sortedKeys(RecordColumns)))
			continue
		case p.Wrong(""):
			continue
		case p.Value == "-" && required:
			p.Problem("a column that a record must have", "Name the table's column, or add one to the table")
		case p.Value == "-":
		case !columnForm.MatchString(p.Value):
			p.Problem("not a valid name of a column", "Use up to 64 letters, digits, _ and $, without quotes")
		case other != "":
			p.Problem("the same column as for "+other, "Each needs a column of its own")
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
	given := map[string]pair{}
	for _, p := range f.Statuses {
		if slices.Contains(all, p.Name) {
			given[p.Name] = p
		} else {
			p.Problem("a record has no such status", decode.DidYouMean(p.Name, all))
		}
	}
	statuses, owner := map[string]string{}, map[string]string{} // value → status
	for _, status := range all {
		value := status // one that is not mapped is its own value
		p, mapped := given[status]
		if mapped && !p.Wrong("") {
			value, statuses[status] = p.Value, p.Value
		}
		key := strings.ToLower(value) // as MySQL's usual collations compare
		if other, taken := owner[key]; taken {
			if !mapped {
				p = given[other]
			}
			p.Problem(fmt.Sprintf("%s and %s have the same value", other, status), "Give each status a value of its own")
		}
		owner[key] = status
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
			f.Get("statuses").Problem(fmt.Sprintf("no value for PARTIAL, as which a job of report %s can end: one of its listeners has on_failure", name),
				"Add PARTIAL: VALUE, or make all listeners required")
		}
		return
	}
}
