package operate

import (
	"errors"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Options are the clients that an Operator uses. It opens and closes none of them.
type Options struct {
	Config  inspect.Config
	Scripts scripts.Partitions
	Records *record.Store
	Inspect *inspect.Inspector
}

// Operator makes the changes that operators ask for. It is safe for concurrent use.
type Operator struct {
	Jobs       Jobs
	Dead       Dead
	Delayed    Delayed
	Timers     Timers
	Quarantine Quarantine
	Pauses     Pauses
}

// New returns an Operator. It does no I/O.
func New(o Options) *Operator {
	return &Operator{Jobs{o}, Dead{o}, Delayed{o}, Timers{o}, Quarantine{o}, Pauses{o}}
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

// report finds a report by its name.
func (o Options) report(name string) (*report.Report, error) {
	if r := o.Config.Reports[name]; r != nil {
		return r, nil
	}
	return nil, fault.Input.New("unknown report %q. %s", name, report.DidYouMean(name, slices.Sorted(maps.Keys(o.Config.Reports))))
}
