package action

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Kind is a kind of action.
type Kind struct {
	kind.Action
	// Act executes a firing, and returns fields for its event. It is called again after an error, and
	// after a crash even if it has succeeded. The error decides what follows: see Permanent, Outage and
	// After; after any other error the firing is retried with the delay of the timer. Act honours ctx
	// and is safe for concurrent use.
	Act func(ctx context.Context, t Tools, f Firing) (event []string, err error)
}

// Names returns what no two kinds share, for people.
func (k Kind) Names() []string { return []string{"timer action " + k.Name} }

// Firing is a fired timer.
type Firing struct {
	*report.Timer                   // its definition; Own has the fields of the action
	Name          string            // of the timer
	Due           int64             // ms
	At            time.Time         // when it fired, at or after Due
	Values        map[string]string // of the {names} in its key
}

// ID identifies the firing, in every try of its action.
func (f Firing) ID() string { return f.Name + "/" + strconv.FormatInt(f.Due, 10) }

// Tools are what actions work with.
type Tools struct {
	Scripts   *scripts.Scripts
	Submitter Submitter   // needed by kinds with Records
	Client    *ask.Client // of the standard actions; another module brings its own client
	Log       *slog.Logger
}

// Submitter inserts records for timers, every record once.
type Submitter interface {
	// Submit inserts a PENDING record for a firing, identified by name and due time (ms), and
	// returns the record's id. Another call for the same firing inserts nothing and returns the
	// same id. Its errors are those of Kind.Act. It must be safe for concurrent use.
	Submit(ctx context.Context, name string, due int64, report string, parameters []byte) (id string, err error)
}

// Permanent marks an error that every try would repeat. It does not change the text.
func Permanent(err error) error { return ErrPermanent.Of(err) }

// Outage marks an error of an unavailable server: the firing is retried until it works, which does not
// count as a try. It does not change the text.
func Outage(err error) error { return ErrOutage.Of(err) }

// After adds to an error that the next try is made after a time.
func After(err error, d time.Duration) error {
	return fmt.Errorf("%w; %w", err, &backoff.RetryAfterError{Duration: d})
}

const (
	// ErrPermanent is matched by every error that Permanent made.
	ErrPermanent fault.Kind = "the same would fail again"
	// ErrOutage is matched by every error that Outage made.
	ErrOutage fault.Kind = "a server is unavailable"
)

// Kinds are the actions that a program has.
type Kinds []Kind

// Config returns what the configuration needs to know of the actions.
func (ks Kinds) Config() []kind.Action {
	all := make([]kind.Action, len(ks))
	for i, k := range ks {
		all[i] = k.Action
	}
	return all
}

// Of returns the kind of a name.
func (ks Kinds) Of(name string) (Kind, bool) {
	for _, k := range ks {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
