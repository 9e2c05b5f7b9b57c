package inspect

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// Limits are those that people have set for sources and reports instead of those of the configuration.
type Limits struct{ o *Options }

// Limit is how many tasks of a source, or jobs of a report, may run at once.
type Limit struct {
	What       string     `json:"what"` // source/<name> or report/<name>
	Limit      int        `json:"limit"`
	Configured int        `json:"configured"` // that of the configuration; 0: no limit
	Since      time.Time  `json:"since"`
	Until      *time.Time `json:"until,omitempty"` // nil: until it is reset
	Who        string     `json:"who"`
	Reason     string     `json:"reason"`

	Stored scripts.Hold `json:"-"`
}

// List lists the limits, by what they limit.
func (l Limits) List(ctx context.Context) ([]Limit, error) {
	found, err := l.o.Scripts.Holds(ctx)
	if err != nil {
		return nil, err
	}
	found = found.Limits()
	list := []Limit{}
	for _, what := range slices.Sorted(maps.Keys(found)) {
		list = append(list, l.Of(what, found[what]))
	}
	return list, nil
}

// Of returns a limit, with that of the configuration.
func (l Limits) Of(what string, of scripts.Hold) Limit {
	limit := Limit{What: what, Limit: of.Limit, Since: of.Since, Who: of.Who, Reason: of.Reason, Stored: of}
	if !of.Until.IsZero() {
		limit.Until = &of.Until
	}
	kind, name, _ := strings.Cut(what, "/")
	if r := l.o.Config.Reports[name]; r != nil && kind == "report" {
		limit.Configured = r.Running
	}
	if kind == "source" {
		limit.Configured = l.o.Config.Sources[name].Parallel
	}
	return limit
}

// Text says what is limited, since when, by whom, until when and why.
func (l Limits) Text(one Limit) string {
	return HoldTitle(l.o.Config.Sources, one.What) + " has been limited to " + strconv.Itoa(one.Limit) + " since " +
		HoldText(one.Stored)
}
