package listeners

import (
	"context"

	"github.com/fanfold/fanfold/report"
)

// Measured is a Connection whose server says how busy it is.
type Measured interface {
	// Measure asks the server for the measures that have a limit, without waiting for a query. An error has a
	// *report.Mistake if an operator can correct it: it matches fault.Denied if the account lacks a privilege, and is
	// NoReplica if only a replica has the measure.
	Measure(ctx context.Context, limits report.Protect) (report.Health, error)
}

// NoReplica is the error of a server that is asked for the lag of a replica and is none.
var NoReplica error = &report.Mistake{
	Message: "the server is not a replica, and protect.replica_lag limits how far one is behind",
	Remedy:  "Write the DSN of the replica, or remove replica_lag",
}
