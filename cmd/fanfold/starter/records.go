package starter

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// records is the table of the records.
type records struct {
	of       *source
	table    string
	exists   bool
	columns  map[string]string // those with other names than Fanfold's
	statuses map[string]string // those with other values
	similar  []string          // tables that look like tables of records, but are used only if they are named
}

// Names that services use for a column. The first one is the name in Fanfold's own table.
var synonyms = map[string][]string{
	"id":         {"id"},
	"report":     {"report", "report_name", "report_type", "report_code", "file_type", "task_type", "type", "name"},
	"parameters": {"parameters", "params", "parameter", "query_params", "query", "conditions", "request"},
	"status":     {"status", "state"},
	"attempt":    {"attempt", "attempts", "retry_count", "retries", "version"},
	"file":       {"file", "file_url", "file_path", "file_name", "url", "path", "object"},
	"error":      {"error", "error_message", "error_msg", "fail_reason", "failure", "reason", "message", "remark"},
	"rows":       {"row_count", "rows", "total", "total_count", "record_count"},
	"created":    {"created_at", "created", "create_time", "created_time", "gmt_create"},
	"updated":    {"updated_at", "updated", "update_time", "updated_time", "modified_at", "modify_time", "gmt_modified", "last_modified"},
}

// Values that services use for a status.
var statusWords = map[report.Status][]string{
	report.Pending:    {"PENDING", "NEW", "CREATED", "WAITING", "QUEUED", "INIT"},
	report.Processing: {"PROCESSING", "RUNNING", "IN_PROGRESS", "STARTED"},
	report.Success:    {"SUCCESS", "SUCCEEDED", "DONE", "FINISHED", "COMPLETED", "OK"},
	report.Partial:    {"PARTIAL", "INCOMPLETE"},
	report.Failed:     {"FAILED", "FAILURE", "ERROR"},
	report.Cancelled:  {"CANCELLED", "CANCELED", "ABORTED"},
}

var identifier = regexp.MustCompile("^" + report.Identifier + "$")

// fits reports whether the type of a column suits a column of records, by the rules of package record.
func fits(name string, c *column) bool {
	integer, text := strings.HasSuffix(c.kind, "int"), strings.Contains(c.kind, "char") || strings.HasSuffix(c.kind, "text")
	switch name {
	case "id", "status":
		return integer || text || c.kind == "enum"
	case "attempt", "rows":
		return integer
	case "updated", "created":
		return c.kind == "datetime" || c.kind == "timestamp"
	case "parameters":
		return text || c.kind == "json"
	}
	return text || c.kind == "enum" && name == "report"
}

// recordColumns maps columns of records to the columns of a table. missing are those that a record
// needs and the table does not have.
func (t *table) recordColumns() (columns map[string]string, missing []string) {
	columns = map[string]string{}
	var taken []*column
	for _, name := range slices.Sorted(maps.Keys(report.RecordColumns)) {
		var found *column
		for _, word := range synonyms[name] {
			i := slices.IndexFunc(t.columns, func(c *column) bool { return folded(c.name) == folded(word) })
			if i >= 0 && fits(name, t.columns[i]) && identifier.MatchString(t.columns[i].name) && !slices.Contains(taken, t.columns[i]) {
				found = t.columns[i]
				break
			}
		}
		switch {
		case found != nil:
			if taken = append(taken, found); !strings.EqualFold(found.name, synonyms[name][0]) {
				columns[name] = found.name
			}
		case report.RecordColumns[name]:
			missing = append(missing, name)
		case name != "created":
			columns[name] = "-"
		}
	}
	return columns, missing
}

// recordStatuses maps statuses to the values of an enum. Columns of other types accept any text.
func (t *table) recordStatuses(status *column) (map[string]string, error) {
	if status.kind != "enum" {
		return nil, nil
	}
	values := strings.Split(strings.TrimSuffix(strings.TrimPrefix(status.whole, "enum("), ")"), ",")
	statuses, own := map[string]string{}, true
	for _, s := range report.Statuses {
		var value string
		for _, word := range statusWords[s] {
			if i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(strings.Trim(v, "'"), word) }); i >= 0 {
				value = strings.Trim(values[i], "'")
				break
			}
		}
		if value == "" && s != report.Partial {
			return nil, fmt.Errorf("column %s is %s, which has no value that means %s: add one, or write records.statuses yourself (docs/reference/configuration.md)", status.name, status.whole, s)
		}
		if value != "" {
			statuses[string(s)] = value
			own = own && strings.EqualFold(value, string(s))
		}
	}
	if own {
		return nil, nil
	}
	return statuses, nil
}

// isRecords reports whether the table has the columns that fanfold migrate creates.
func (t *table) isRecords() bool {
	columns, missing := t.recordColumns()
	return len(columns) == 0 && len(missing) == 0
}

// likely reports whether a table of a service could be a table of records.
func (t *table) likely() bool {
	_, missing := t.recordColumns()
	return len(missing) == 0 && likelyName.MatchString(t.name)
}

var likelyName = regexp.MustCompile(`(?i)download|export|report|record|task|job`)

// findRecords chooses the table of the records: the named one, otherwise an existing one of Fanfold,
// otherwise a new one in the named or the first database.
func findRecords(sources []*source, in *source, named string) (*records, error) {
	r := &records{of: in, table: named}
	if named != "" {
		i := slices.IndexFunc(in.tables, func(t *table) bool { return strings.EqualFold(t.name, named) })
		if i < 0 {
			return r, nil
		}
		return r, r.take(in.tables[i])
	}
	search := sources
	if in != nil {
		search = []*source{in}
	}
	for _, s := range search {
		for _, t := range s.tables {
			switch {
			case t.isRecords() && !r.exists && identifier.MatchString(t.name):
				r.of, r.table, r.exists = s, t.name, true
			case t.isRecords(), t.likely():
				r.similar = append(r.similar, s.name+"."+t.name)
			}
		}
	}
	if r.exists {
		return r, nil
	}
	r.of, r.table = search[0], report.DefaultTable
	for _, t := range r.of.tables {
		if strings.EqualFold(t.name, r.table) {
			return nil, fmt.Errorf("--records: database %s has a table %s that fanfold migrate has not created: name another table, such as --records %[1]s.fanfold_record, or another database", r.of.name, r.table)
		}
	}
	return r, nil
}

// take chooses an existing table of a service as the table of the records.
func (r *records) take(t *table) error {
	wrong := func(what string) error { return fmt.Errorf("--records %s.%s: %s", r.of.name, t.name, what) }
	var missing []string
	if r.columns, missing = t.recordColumns(); len(missing) > 0 {
		return wrong("the table has no column for " + strings.Join(missing, ", ") + " under a common name: map your names in records.columns, add what is missing (see docs/guides/existing-table.md), or omit the table: fanfold migrate then creates one")
	}
	name := r.columns["status"]
	if name == "" {
		name = "status"
	}
	status := t.find(name)
	if strings.HasSuffix(status.kind, "int") {
		return wrong("its column " + name + " is an integer, but init does not know what the numbers mean: omit the table, and write records.table and records.statuses yourself (docs/reference/configuration.md)")
	}
	var err error
	if r.statuses, err = t.recordStatuses(status); err != nil {
		return wrong(err.Error())
	}
	r.table, r.exists = t.name, true
	return nil
}
