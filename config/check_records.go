package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

var columnForm = regexp.MustCompile("^" + report.Identifier + "$")

// checkRecords proves that Fanfold can write to the table of the records.
func (k *checker) checkRecords() {
	r, s := &k.config.Records, k.Of(&k.f.Records)
	r.ParameterBytes, r.History, r.Audit = k.config.Limits.ParameterBytes, k.f.History, k.f.Audit
	if s.Refers("database", r.Database, "databases", sortedKeys(k.config.Databases)) {
		name := k.config.Databases[r.Database].Kind
		switch of, ok := k.kinds.RecordsIn(name); {
		case name == "":
		case !ok:
			var names []string
			for _, of := range k.kinds.Records {
				names = append(names, of.Name)
			}
			s.Get("database").Problem("the records cannot be in a database of kind "+name,
				"Name a database of kind "+strings.Join(names, " or "))
		case r.Filter != "" && of.CheckCondition != nil:
			if wrong := of.CheckCondition(r.Filter); wrong != nil {
				s.Get("filter").Problem(wrong.Message, wrong.Remedy)
			}
		}
	}
	checkColumns(s, r.Columns)
	checkStatuses(s, r.Statuses)
}

func checkColumns(s decode.Section, columns map[string]string) {
	taken := map[string]string{} // the table's column → Fanfold's
	for _, name := range sortedKeys(columns) {
		column, at := columns[name], s.Get("columns."+name)
		required, known := report.RecordColumns[name]
		other := taken[strings.ToLower(column)]
		switch {
		case !known:
			at.Problem("a record has no such column", report.DidYouMean(name, sortedKeys(report.RecordColumns)))
		case s.Wrong("columns." + name):
		case column == "-" && required:
			at.Problem("this column is required", "Name the table's column, or add one to the table")
		case column == "-":
		case !columnForm.MatchString(column):
			at.Problem("not a valid column name", "Use up to 64 letters, digits, _ and $, without quotes")
		case other != "":
			at.Problem(other+" has the same column", "Use a separate column for each")
		default:
			taken[strings.ToLower(column)] = name
		}
	}
}

func checkStatuses(s decode.Section, statuses map[string]string) {
	all := texts(report.Statuses)
	for _, status := range sortedKeys(statuses) {
		if !slices.Contains(all, status) {
			s.Get("statuses."+status).Problem("a record has no such status", report.DidYouMean(status, all))
		}
	}
	owner := map[string]string{} // value → status
	for _, status := range all {
		value, mapped := statuses[status]
		if !mapped || s.Wrong("statuses."+status) {
			value = status // an unmapped status is its own value
		}
		key := strings.ToLower(value) // the usual collations of MySQL ignore case
		if other, taken := owner[key]; taken {
			at := "statuses." + status
			if !mapped {
				at = "statuses." + other
			}
			s.Get(at).Problem(fmt.Sprintf("%s and %s have the same value", other, status),
				"Give every status a unique value")
		}
		owner[key] = status
	}
}

// checkPartial proves that the table has a value for PARTIAL if a job can end as PARTIAL.
func (k *checker) checkPartial() {
	c := k.config
	for _, name := range sortedKeys(c.Reports) {
		if !c.Reports[name].CanBePartial() {
			continue
		}
		c.Records.Partial = true
		if _, ok := c.Records.Statuses[string(report.Partial)]; !ok && len(c.Records.Statuses) > 0 {
			k.Of(&k.f.Records).Get("statuses").Problem(fmt.Sprintf("no value for PARTIAL, but a job of report %s can end as PARTIAL: one of its listeners may fail", name),
				"Add PARTIAL: VALUE, or remove optional and on_failure from its listeners")
		}
		return
	}
}
