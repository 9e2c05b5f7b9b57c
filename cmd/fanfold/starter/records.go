package starter

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// records is the table of the records.
type records struct {
	Of      *source // nil: not chosen
	Table   string
	Exists  bool
	Columns map[string]string // those with other names than Fanfold's
}

// usual has the names that services give to a column of records. The first one is the name in Fanfold's
// own table.
var usual = map[string][]string{
	"id":         {"id"},
	"report":     {"report", "report_name", "report_type", "report_code", "file_type", "task_type", "type", "name"},
	"parameters": {"parameters", "params", "parameter", "query_params", "query", "conditions", "request"},
	"status":     {"status", "state"},
	"attempt":    {"attempt", "attempts", "retry_count", "retries", "version"},
	"file":       {"file", "file_url", "file_path", "file_name", "url", "path", "object"},
	"error":      {"error", "error_message", "error_msg", "fail_reason", "failure", "reason", "message", "remark"},
	"rows":       {"row_count", "rows", "total", "total_count", "record_count"},
	"created":    {"created_at", "created", "create_time", "created_time", "gmt_create"},
	"owner":      {"owner"},
	"tenant":     {"tenant"},
	"updated": {"updated_at", "updated", "update_time", "updated_time", "modified_at", "modify_time",
		"gmt_modified", "last_modified"},
}

var identifier = regexp.MustCompile("^" + report.Identifier + "$")

// recordColumns maps columns of records to the columns of a table. missing are those that a record
// needs and the table does not have.
func (t *table) recordColumns() (columns map[string]string, missing []string) {
	columns = map[string]string{}
	var taken []*kind.Column
	for _, name := range slices.Sorted(maps.Keys(report.RecordColumns)) {
		var found *kind.Column
		for _, word := range usual[name] {
			i := slices.IndexFunc(t.columns, func(c *kind.Column) bool {
				return folded(c.Name) == folded(word) && identifier.MatchString(c.Name) && !slices.Contains(taken, c)
			})
			if i >= 0 {
				found = t.columns[i]
				taken = append(taken, found)
				break
			}
		}
		switch {
		case found != nil && !strings.EqualFold(found.Name, usual[name][0]):
			columns[name] = found.Name
		case found == nil && report.RecordColumns[name]:
			missing = append(missing, name)
		case found == nil && name != "created" && name != "owner" && name != "tenant":
			columns[name] = "-"
		}
	}
	return columns, missing
}

// isRecords reports whether the table has the columns that fanfold migrate creates.
func (t *table) isRecords() bool {
	columns, missing := t.recordColumns()
	return len(columns) == 0 && len(missing) == 0
}

// find chooses the table of the records: the named one, otherwise an existing one of Fanfold,
// otherwise a new one in the named or the first database.
func (r *records) find(sources []*source) error {
	if r.Of != nil {
		sources = []*source{r.Of}
	}
	named := r.Table
	for _, s := range sources {
		for _, t := range s.Tables {
			if named != "" && !strings.EqualFold(t.Name, named) || named == "" &&
				(!t.isRecords() || !identifier.MatchString(t.Name)) {
				continue
			}
			columns, missing := t.recordColumns()
			if len(missing) > 0 {
				return fault.Input.New("--records %s.%s: the table has no column for %s under a common name: map your names in records.columns, add what is missing (see docs/guides/existing-table.md), or omit the table: fanfold migrate then creates one",
					s.Name, t.Name, strings.Join(missing, ", "))
			}
			*r = records{s, t.Name, true, columns}
			return nil
		}
	}
	r.Of = sources[0]
	if named != "" {
		return nil
	}
	r.Table = report.DefaultTable
	for _, t := range r.Of.Tables {
		if strings.EqualFold(t.Name, r.Table) {
			return fault.Input.New("--records: database %s has a table %s that fanfold migrate has not created: name another table, such as --records %[1]s.fanfold_record, or another database", r.Of.Name, r.Table)
		}
	}
	return nil
}
