package operate

import (
	"errors"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// Operator makes the changes that operators ask for. It is safe for concurrent use.
type Operator struct {
	Jobs       Jobs
	Orders     Orders
	Groups     Groups
	Dead       Dead
	Delayed    Delayed
	Timers     Timers
	Quarantine Quarantine
	Pauses     Pauses
	Limits     Limits
	Audit      Audit
}

// New returns an Operator with the clients of an Inspector. It does no I/O.
func New(in *inspect.Inspector) *Operator {
	return &Operator{Jobs{in}, Orders{in}, Groups{in}, Dead{in}, Delayed{in}, Timers{in}, Quarantine{in}, Pauses{in},
		Limits{in}, Audit{in}}
}

// Refused reports whether an error concerns only the object of the change, so that other objects can
// still be changed.
func Refused(err error) bool {
	return errors.Is(err, fault.Input) || errors.Is(err, fault.NotFound) || errors.Is(err, fault.Refused)
}

// CheckID checks that a text can be the id of a record.
func CheckID(id string) error {
	if !report.ValidID(id) {
		return fault.Input.New("%.80q is not an id: use 1 to 64 of 0-9, A-Z, a-z, _ and -", id)
	}
	return nil
}

// reportOf finds a report by its name.
func reportOf(in *inspect.Inspector, name string) (*report.Report, error) {
	return ReportOf(in.Config.Reports, name)
}

// ReportOf finds a report of the configuration by its name. The error is a fault.Input.
func ReportOf(all map[string]*report.Report, name string) (*report.Report, error) {
	if r := all[name]; r != nil {
		return r, nil
	}
	return nil, fault.Input.New("unknown report %q. %s", name, report.DidYouMean(name, slices.Sorted(maps.Keys(all))))
}
