package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// State is the state of a job in Redis.
type State struct {
	*job.State
	Steps []Part // tasks of all stages so far, in order
	FanIn Part
}

// Part is one step of a job: a listener's task, or fan-in. Its Tries are those that count,
// including the running one.
type Part struct {
	Name string
	job.TaskState
}

// ErrBrokenState means that the key of a state contains something else.
var ErrBrokenState = errors.New("not a state")

// State reads the state of a job. It returns nil if there is none.
func (j Jobs) State(ctx context.Context, id string) (*State, error) {
	state, err := j.o.Scripts.Of(id).Jobs.Read(ctx, id)
	switch {
	case errors.Is(err, scripts.ErrNoJob):
		return nil, nil
	case errors.Is(err, scripts.ErrBroken):
		return nil, fmt.Errorf("%w: %w", ErrBrokenState, err)
	case err != nil:
		return nil, err
	}
	of := &State{State: state, FanIn: Part{job.StepFanIn, job.TaskState{StepState: state.Fold, Owner: state.Worker}}}
	for name, t := range state.Tasks {
		of.Steps = append(of.Steps, Part{name, t})
	}
	position := func(p Part) int { return slices.Index(state.Listeners, p.Name) }
	slices.SortFunc(of.Steps, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(position(a), position(b)), cmp.Compare(a.Name, b.Name))
	})
	return of, nil
}

// Querying reports whether listeners of its stage are open.
func (j *State) Querying() bool { return j.Status == job.StatusRun }

// Committed reports whether its end is decided: deadline and cancel no longer count.
func (j *State) Committed() bool {
	return j.Status == job.StatusPublishing || j.Status == job.StatusFailing
}

// Failing reports whether it will end without a file.
func (j *State) Failing() bool { return j.Status == job.StatusFailing }

// Runs reports whether it has not ended.
func (j *State) Runs() bool { return !j.Ended() }

// Member returns the name of its definition in the set of known definitions.
func (j *State) Member() string { return scripts.DefinitionMember(j.Report, j.Definition) }

// Orphan reports whether processes run, and none has the definition that it needs.
func (j *State) Orphan(ours *report.Report, seen scripts.Seen) bool {
	return j.NeedsDefinition() && !j.Of(ours) && seen.AnyLive() && !seen.Live(j.Member())
}

// Of reports whether it was started with a definition.
func (j *State) Of(r *report.Report) bool { return r != nil && r.Hash() == j.Definition }

// Open returns the steps that it waits for: open listeners, or fan-in.
func (j *State) Open() []Part {
	switch {
	case !j.Runs():
		return nil
	case !j.Querying():
		return []Part{j.FanIn}
	}
	var open []Part
	for _, t := range j.Steps {
		if !t.Done { // of its stage, or of an earlier one that runs again
			open = append(open, t)
		}
	}
	return open
}
