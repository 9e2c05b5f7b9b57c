// Package actiontest holds what every action of a timer must do, as tests to be run over each kind.
package actiontest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
)

// Fixture is a receiver of what an action does.
type Fixture struct {
	Tools action.Tools
	Own   any // the own fields of a timer whose key has the name {user}
	// IDs returns what the receiver recognizes effects by, one for every time that it was reached.
	IDs func(t *testing.T) []string
	// Away makes what the action needs unavailable, without a fault of the timer.
	Away func(t *testing.T)
	// OutageIsATry says that Away counts as a try: the kind does not tell it from a failure.
	OutageIsATry bool
	// Refuse makes the receiver refuse every try.
	Refuse func(t *testing.T)
}

// Run runs the suite over a kind. open makes a new receiver; it is called once for every test. Tests run
// in parallel.
func Run(t *testing.T, kind action.Kind, open func(t *testing.T) Fixture) {
	t.Helper()
	for name, run := range map[string]func(suite, *testing.T){
		"complete": suite.complete, "success": suite.success, "same id in every try": suite.again,
		"an outage": suite.away, "a permanent error": suite.refused, "cancelled before": suite.cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(suite{kind, open(t)}, t)
		})
	}
}

type suite struct {
	action.Kind
	Fixture
}

// act executes a firing of a user.
func (s suite) act(ctx context.Context, user string, due int64) ([]string, error) {
	return s.Act(ctx, s.Tools, action.Firing{
		Timer: &report.Timer{Name: "test", Action: s.Name, Own: s.Own},
		Name:  "test-" + user, Due: due, Values: map[string]string{"user": user},
	})
}

func (s suite) complete(t *testing.T) {
	if s.Name == "" || s.Doc == "" || s.Form == "" || s.Check == nil {
		t.Errorf("the kind is not complete: %+v", s.Kind)
	}
	if one, other := s.Kind.Fields(), s.Kind.Fields(); one == other || reflect.TypeOf(one) != reflect.TypeOf(s.Own) ||
		reflect.TypeOf(one).Elem().Kind() != reflect.Struct {
		t.Errorf("Fields returns %T, not a pointer to a new struct", one)
	}
}

func (s suite) success(t *testing.T) {
	event, err := s.act(t.Context(), "ada", 1)
	if err != nil || len(event)%2 != 0 || len(s.IDs(t)) != 1 {
		t.Errorf("event %q, received %q, %v", event, s.IDs(t), err)
	}
}

func (s suite) again(t *testing.T) {
	for _, f := range []struct {
		user string
		due  int64
	}{{"ada", 1}, {"ada", 1}, {"ada", 2}, {"bob", 1}} {
		if _, err := s.act(t.Context(), f.user, f.due); err != nil {
			t.Fatal(err)
		}
	}
	ids := s.IDs(t)
	slices.Sort(ids)
	if firings := slices.Compact(slices.Clone(ids)); len(firings) != 3 {
		t.Errorf("three firings, one of them twice, have the ids %q", ids)
	}
}

func (s suite) away(t *testing.T) {
	s.Away(t)
	_, err := s.act(t.Context(), "ada", 1)
	if err == nil || errors.Is(err, action.ErrPermanent) || errors.Is(err, action.ErrOutage) == s.OutageIsATry {
		t.Errorf("an outage, which is a try: %t; it ended with %v", s.OutageIsATry, err)
	}
}

func (s suite) refused(t *testing.T) {
	s.Refuse(t)
	if _, err := s.act(t.Context(), "ada", 1); !errors.Is(err, action.ErrPermanent) ||
		errors.Is(err, action.ErrOutage) {
		t.Errorf("%v is not permanent", err)
	}
}

func (s suite) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.act(ctx, "ada", 1); errors.Is(err, action.ErrPermanent) {
		t.Errorf("the end of the context is permanent: %v", err)
	}
}
