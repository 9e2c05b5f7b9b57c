package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/record"
)

// outcomes are what became of ids.
type outcomes []outcome

type outcome struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"` // what was done, or refused
}

func (os outcomes) table(t table.Writer) {
	t.AppendHeader(table.Row{"id", "outcome"})
	for _, o := range os {
		t.AppendRow(table.Row{o.ID, o.Outcome})
	}
}

// refusal tells whether an error is about one record, and no other.
func refusal(err error) bool {
	for _, one := range []error{errNotCancelled, errNotRetried, engine.ErrNotAdopted, engine.ErrNoRecord, record.ErrRunning} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// each does something to each id. Refusals hold up no other one; another error ends it.
// The error has the worst code of them all.
func each(ids []string, do func(id string) (string, error)) (done outcomes, err error) {
	for _, id := range ids {
		what, one := do(id)
		if one != nil {
			err, what = worst(err, one), "refused"
			if !refusal(one) {
				return done, err
			}
		}
		done = append(done, outcome{ID: id, Outcome: what})
	}
	return done, err
}

// worst joins errors. Their code is the highest one.
func worst(errs ...error) error {
	code := exitOK
	for _, err := range errs {
		if err != nil {
			code = max(code, exitCode(err))
		}
	}
	if code == exitOK {
		return nil
	}
	return coded{errors.Join(errs...), code}
}

// noReport is the error of a report that is not in the configuration.
func (b *backend) noReport(name string) error {
	return fmt.Errorf("unknown report %q. Available: %s", name, strings.Join(b.reportNames(), ", "))
}
