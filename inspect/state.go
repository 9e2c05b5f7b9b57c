package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// jobState is the state of a job in Redis. Only this file reads it.
type jobState struct {
	*job.State
	Steps []part // tasks of all stages so far, in order
	FanIn part
}

// part is one step of a job: a listener's task, or fan-in. Its Tries are those that count,
// including the running one.
type part struct {
	Name string
	job.TaskState
}

// errBrokenState means that the key of a state contains something else.
var errBrokenState = errors.New("not a state")

// readJob reads the state of a job. It returns nil if there is none.
func readJob(ctx context.Context, s *scripts.Scripts, id string) (*jobState, error) {
	state, err := s.Jobs.Read(ctx, id)
	switch {
	case errors.Is(err, scripts.ErrNoJob):
		return nil, nil
	case errors.Is(err, scripts.ErrBroken), redis.HasErrorPrefix(err, "WRONGTYPE"):
		return nil, fmt.Errorf("%w: %w", errBrokenState, err)
	case err != nil:
		return nil, err
	}
	j := &jobState{State: state, FanIn: part{job.StepFanIn, job.TaskState{StepState: state.Fold, Owner: state.Worker}}}
	for name, t := range state.Tasks {
		j.Steps = append(j.Steps, part{name, t})
	}
	position := func(p part) int { return slices.Index(state.Listeners, p.Name) }
	slices.SortFunc(j.Steps, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(position(a), position(b)), cmp.Compare(a.Name, b.Name))
	})
	return j, nil
}

// querying reports whether listeners of its stage are open.
func (j *jobState) querying() bool { return j.Status == job.StatusRun }

// committed reports whether its end is decided: deadline and cancel no longer count.
func (j *jobState) committed() bool {
	return j.Status == job.StatusPublishing || j.Status == job.StatusFailing
}

// failing reports whether it will end without a file.
func (j *jobState) failing() bool { return j.Status == job.StatusFailing }

// runs reports whether it has not ended.
func (j *jobState) runs() bool { return !j.Ended() }

// member returns the name of its definition in the set of known definitions.
func (j *jobState) member() string { return scripts.DefinitionMember(j.Report, j.Definition) }

// orphan reports whether processes run, and none has the definition that it needs.
func (j *jobState) orphan(ours *report.Report, seen scripts.Seen) bool {
	return j.NeedsDefinition() && !j.of(ours) && seen.AnyLive() && !seen.Live(j.member())
}

// of reports whether it was started with a definition.
func (j *jobState) of(r *report.Report) bool { return r != nil && r.Hash() == j.Definition }

// open returns the steps that it waits for: open listeners, or fan-in.
func (j *jobState) open() []part {
	switch {
	case !j.runs():
		return nil
	case !j.querying():
		return []part{j.FanIn}
	}
	var open []part
	for _, t := range j.Steps {
		if t.Stage == j.Stage && !t.Done {
			open = append(open, t)
		}
	}
	return open
}
