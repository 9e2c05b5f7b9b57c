package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

var (
	recordTable  = regexp.MustCompile(`^[A-Za-z0-9_$]{1,64}(\.[A-Za-z0-9_$]{1,64})?$`)
	recordColumn = regexp.MustCompile(`^[A-Za-z0-9_$]{1,64}$`)
)

func (f fields) records(databases []string) Records {
	r := Records{Table: "file_download_record"}
	at, ok := f.need("records", "Add records: {database: NAME}, the database with the table of records")
	if !ok {
		return r
	}
	of := at.fields("database", "table", "columns", "statuses", "filter")
	r.Database = of.databaseName(databases)
	if table := of.get("table"); table.given() {
		r.Table, _ = table.name(recordTable, "the name of a table", "Write table or schema.table, of letters, digits, _ and $")
	}
	r.Columns = of.get("columns").recordColumns()
	r.Statuses = of.get("statuses").recordStatuses()
	if filter := of.get("filter"); filter.given() {
		r.Filter = filter.condition()
	}
	return r
}

// databaseName decodes the field database, which must name one that is there.
func (f fields) databaseName(known []string) string {
	at, ok := f.need("database", "Name one of databases: "+report.Listing(known))
	if !ok {
		return ""
	}
	name, ok := at.text()
	if ok && len(known) > 0 && !slices.Contains(known, name) { // without any, that has been said
		at.problem("no such database", didYouMean(name, known))
	}
	return name
}

func (p setting) recordColumns() map[string]string {
	entries, _ := p.entries()
	if len(entries) == 0 {
		return nil
	}
	columns, taken := map[string]string{}, map[string]string{}
	for _, e := range entries {
		required, known := RecordColumns[e.name]
		if !known {
			e.value.problem("a record has no such column", didYouMean(e.name, sortedKeys(RecordColumns)))
			continue
		}
		name, ok := e.value.text()
		if !ok {
			continue
		}
		columns[e.name] = name
		switch {
		case name == "-" && required:
			e.value.problem("a column that a record must have", "Name the table's column, or add one to the table")
		case name == "-":
		case !recordColumn.MatchString(name):
			e.value.problem("not the name of a column", "Use up to 64 letters, digits, _ and $, without quotes")
		case taken[strings.ToLower(name)] != "":
			e.value.problem("the same column as for "+taken[strings.ToLower(name)], "Each needs a column of its own")
		default:
			taken[strings.ToLower(name)] = e.name
		}
	}
	return columns
}

func (p setting) recordStatuses() map[string]string {
	entries, _ := p.entries()
	if len(entries) == 0 {
		return nil
	}
	all := texts(report.Statuses)
	statuses, places := map[string]string{}, map[string]setting{}
	for _, e := range entries {
		if !slices.Contains(all, e.name) {
			e.value.problem("a record has no such status", didYouMean(e.name, all))
			continue
		}
		if value, ok := e.value.text(); ok {
			statuses[e.name], places[e.name] = value, e.value
		}
	}
	// A status that is not mapped is its own value, and takes that one too. The
	// comparison is the one of MySQL's usual collations.
	for i, status := range all {
		for _, other := range all[i+1:] {
			if !strings.EqualFold(mapped(statuses, status), mapped(statuses, other)) {
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

// mapped is what the table has for one of Fanfold's names.
func mapped(names map[string]string, name string) string {
	if value, ok := names[name]; ok {
		return value
	}
	return name
}

// condition decodes SQL that becomes part of a WHERE.
func (p setting) condition() string {
	text, ok := p.text()
	if !ok {
		return ""
	}
	if wrong := report.CheckCondition(text); wrong != nil {
		p.problem(wrong.Message, wrong.Remedy)
	}
	return text
}
