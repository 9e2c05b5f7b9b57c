package operate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/engine/trigger"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Options are the clients that an Operator uses. It opens and closes none of them.
type Options struct {
	Config  inspect.Config
	Redis   redis.UniversalClient
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

// Kind is the reason why a change is not made. Errors of a kind match it with errors.Is.
type Kind string

const (
	ErrInput    Kind = "the request is not valid"
	ErrNotFound Kind = "it does not exist"
	ErrRefused  Kind = "its state does not allow it"
	ErrGone     Kind = "it was deleted"
)

func (k Kind) Error() string { return string(k) }

// Because returns an error of a kind, with a formatted text.
func (k Kind) Because(format string, args ...any) error {
	return kindOf{fmt.Errorf(format, args...), k}
}

type kindOf struct {
	error
	kind Kind
}

func (k kindOf) Unwrap() error { return k.error }

func (k kindOf) Is(target error) bool { return target == k.kind }

// Refused reports whether an error concerns only the object of the change, so that other objects can
// still be changed.
func Refused(err error) bool {
	for _, one := range []error{ErrInput, ErrNotFound, ErrRefused, trigger.ErrNotAdopted, engine.ErrNoRecord, record.ErrRunning, scripts.ErrNoTimer, scripts.ErrNotRequeued} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// CheckID checks that a text can be the id of a record.
func CheckID(id string) error {
	if !report.ValidID(id) {
		return ErrInput.Because("%.80q is not an id: use 1 to 64 of 0-9, A-Z, a-z, _ and -", id)
	}
	return nil
}

// report finds a report by its name.
func (o Options) report(name string) (*report.Report, error) {
	if r := o.Config.Reports[name]; r != nil {
		return r, nil
	}
	return nil, ErrInput.Because("unknown report %q. %s", name, report.DidYouMean(name, slices.Sorted(maps.Keys(o.Config.Reports))))
}
