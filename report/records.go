package report

import "time"

// Records describes the table of the records. The zero value is Fanfold's own table.
type Records struct {
	// Name of one of `databases`
	Database string `yaml:"database" unset:"required"`
	// `table` or `schema.table`
	Table string `yaml:"table" form:"table"`
	// SQL condition on the table's columns, such as `tenant = 7`. Fanfold sees only rows that fulfil it
	Filter string `yaml:"filter" unset:"all rows"`
	// Fanfold's name of a column → the table's, or `"-"` if the table does not have it
	Columns map[string]string `yaml:"columns"` // see RecordColumns
	// Fanfold's status → the table's value. A status that is not listed is its own value
	Statuses map[string]string `yaml:"statuses"`
	// Partial is set if jobs of a report can end as PARTIAL.
	Partial bool
	// LaneColumn is the column that names the lane of a record; empty: not read.
	LaneColumn string
	// ParameterBytes is the maximum size of a record's parameters; 0 means no limit.
	ParameterBytes int64
	// History is how long what jobs did is kept after their end; 0: it is not.
	History time.Duration
	// Audit is how long what people did is kept; 0: only as long as Redis keeps it.
	Audit time.Duration
}

// DefaultTable is the name of Fanfold's own table.
const DefaultTable = "file_download_record"

// SetDefaults sets it to Fanfold's own table.
func (r *Records) SetDefaults() { r.Table = DefaultTable }

// Identifier is the regular expression of the names of tables and columns, which need no
// quotes.
const Identifier = `[A-Za-z0-9_$]{1,64}`

// RecordColumns are the columns of a table of records. Those that are true are required, the
// others can be mapped to "-". If created is not mapped, it is created_at if the table has that column; if no column
// is mapped, owner and tenant are the columns with these names.
var RecordColumns = map[string]bool{
	"id": true, "report": true, "status": true, "attempt": true, "file": true, "updated": true,
	"parameters": false, "error": false, "rows": false, "created": false, "owner": false, "tenant": false,
}
