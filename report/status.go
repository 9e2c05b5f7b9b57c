package report

import "slices"

// Status is the state of a record. Pending and Processing are on their way, the others
// are final.
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

// Statuses are all of them, in the order in which they are listed.
var Statuses = []Status{Pending, Processing, Success, Partial, Failed, Cancelled}

// Final tells whether the status never changes by itself.
func (s Status) Final() bool { return s != Pending && s != Processing }

// HasFile tells whether the record points to a file of its own attempt.
func (s Status) HasFile() bool { return s == Success || s == Partial }

// Known tells whether the status is one of Statuses.
func (s Status) Known() bool { return slices.Contains(Statuses, s) }
