package report

import "slices"

// Status is the state of a record. All but Pending and Processing are final. The names are a contract. Besides help
// and comments, these repeat some of them: settle.lua, cancel.lua, the conditions of package record,
// config/check_records.go, api/openapi.yaml, deploy/prometheus/alerts.yaml and cmd/fanfold/e2e/records.go.
type Status string

// The statuses of a record.
const (
	Pending    Status = "PENDING"
	Processing Status = "PROCESSING"
	Success    Status = "SUCCESS"
	Partial    Status = "PARTIAL" // a file without the data of some listeners
	Failed     Status = "FAILED"
	Cancelled  Status = "CANCELLED"
)

// Deleted is shown, and written to receipts, instead of the status of a record that no longer exists. No record
// has it.
const Deleted Status = "DELETED"

// Statuses are all of them, in the order in which they are listed.
var Statuses = []Status{Pending, Processing, Success, Partial, Failed, Cancelled}

// Final reports whether the status changes only by a request of a user.
func (s Status) Final() bool { return s != Pending && s != Processing }

// HasFile reports whether the record points to a file of its attempt, or to none because of EmptySkip.
func (s Status) HasFile() bool { return s == Success || s == Partial }

// Skipped reports whether a record has no file because its result has no rows. Rows are nil if they are unknown. A file
// that was released later has rows.
func Skipped(s Status, file string, rows *int64) bool {
	return s.HasFile() && file == "" && rows != nil && *rows == 0
}

// NoRows says why a record that is Skipped has no file.
const NoRows = "the result has no rows, and the report makes no empty file (file.empty: skip)"

// Known reports whether the status is one of Statuses.
func (s Status) Known() bool { return slices.Contains(Statuses, s) }
