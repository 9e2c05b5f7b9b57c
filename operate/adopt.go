package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Orphans lists the ids of running jobs of a report (empty: of all reports) whose definition no
// process has.
func (j Jobs) Orphans(ctx context.Context, report string) (ids []string, err error) {
	for _, s := range j.in.Scripts {
		found, _, err := s.Definitions.Orphans(ctx)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			if report == "" || o.Report == report {
				ids = append(ids, o.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Needless is the refusal to adopt a job that does not need it. It is not an error for a job from
// Orphans, which may have changed since it was listed.
type Needless struct {
	error
	Outcome string // short, for people
}

func (n Needless) Unwrap() error { return n.error }

// Adopt starts the next attempt of a running job with the definition of this configuration, if no
// process has the definition that the job was started with.
func (j Jobs) Adopt(ctx context.Context, id string) (outcome string, err error) {
	act, err := begin(ctx, j.in, "adopt", id)
	if err != nil {
		return "", err
	}
	defer act.end(ctx, &err)
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("record %s: %w: %s", id, trigger.ErrNotAdopted, fmt.Sprintf(format, args...))
	}
	const continues = "continues: a process has its definition"
	r, err := j.in.Jobs.Record(ctx, id)
	switch {
	case err != nil:
		return "", err
	case r.Status == report.Pending:
		return "", refuse("it is PENDING; fanfold submit %s pushes it", id)
	case r.Status.Final():
		return "", Needless{refuse("it is %s; fanfold retry %s runs it again", r.Status, id),
			fmt.Sprintf("has ended: %s", r.Status)}
	}
	definition := j.in.Config.Reports[r.Report]
	if definition == nil {
		return "", refuse("its report %q is not in this configuration; add it, or end the job with fanfold cancel %s",
			r.Report, id)
	}
	state, err := j.in.Scripts.Of(id).Jobs.Read(ctx, id)
	switch {
	case errors.Is(err, scripts.ErrNoJob) || err == nil && state.Attempt < r.Attempt:
		return "",
			refuse("Redis does not know its attempt %d; fanfold submit %s starts the next one after limits.recover_after",
				r.Attempt, id)
	case err != nil:
		return "", err
	case state.Attempt > r.Attempt || !state.NeedsDefinition():
		return "", Needless{refuse("its job is about to end"), "is about to end"}
	}
	old, current := scripts.DefinitionMember(state.Report, state.Definition),
		scripts.DefinitionMember(r.Report, definition.Hash())
	seen, err := j.in.Scripts.First().Definitions.Seen(ctx)
	if err != nil {
		return "", err
	}
	if state.Definition == definition.Hash() {
		err := refuse("it runs with the definition of this configuration; fanfold why %s says what it waits for", id)
		if seen.Live(old) {
			err = Needless{err, continues}
		}
		return "", err
	}
	if seen, err = j.settled(ctx, old); errors.Is(err, errDefinitionLives) {
		return "", Needless{refuse("%v; it continues there. To restart it anyway, use fanfold cancel %s and fanfold retry "+
			"%s", err, id, id), continues}
	} else if err != nil {
		return "", err
	}
	if !seen.Live(current) {
		return "", refuse("no process has the definition of report %s in this configuration either: start fanfold serve "+
			"with it, or name the configuration that the processes use with --config", r.Report)
	}
	ok, err := trigger.Adopt(ctx, j.in.Records, j.in.Scripts.Of(id), definition, r)
	switch {
	case ok && err != nil:
		return fmt.Sprintf("adopted, attempt %d, but not yet in Redis: %v", r.Attempt+1, err), nil
	case err != nil:
		return "", err
	case !ok:
		return "", Needless{refuse("its attempt or status has just changed"), "has just changed"}
	}
	return fmt.Sprintf("adopted, attempt %d", r.Attempt+1), nil
}

// errDefinitionLives means that a process has the definition.
var errDefinitionLives = errors.New("a process has the definition that it was started with")

// settled waits until it is known whether a process has a definition: one that announced it recently
// may have stopped. If a process announces it again, the error is errDefinitionLives.
func (j Jobs) settled(ctx context.Context, member string) (scripts.Seen, error) {
	tick := time.NewTicker(scripts.AnnounceEvery / 4)
	defer tick.Stop()
	var first time.Time
	for {
		seen, err := j.in.Scripts.First().Definitions.Seen(ctx)
		if err != nil || !seen.Live(member) {
			return seen, err
		}
		if first.IsZero() {
			first = seen.Last[member]
		} else if seen.Last[member].After(first) {
			return seen, errDefinitionLives
		}
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-tick.C:
		}
	}
}
