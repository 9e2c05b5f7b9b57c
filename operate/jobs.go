package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/trace"
)

// Jobs changes records and their jobs.
type Jobs struct{ in *inspect.Inspector }

// Report finds a report by its name.
func (j Jobs) Report(name string) (*report.Report, error) { return reportOf(j.in, name) }

// Create inserts a PENDING record and pushes its id. The definition of the report must accept the parameters. If the
// record was inserted and only the push failed, Create returns the id and the error.
func (j Jobs) Create(ctx context.Context, of record.Request) (id string, err error) {
	id, _, err = j.create(ctx, of, func(of record.Request) (id string, before bool, err error) {
		id, err = j.in.Records.Insert(ctx, of)
		return id, false, err
	})
	return id, err
}

// CreateOnce is Create for a request with a key of 1 to 200 bytes. If it is repeated with the same key
// and record within record.KeptRequests, it returns the id of the first record with
// before = true, and pushes the id again if that record is still PENDING. The error matches
// record.ErrOtherRequest if the key was used for another record, and fault.Gone if
// the record of the key was deleted.
func (j Jobs) CreateOnce(ctx context.Context, key string, of record.Request) (id string, before bool, err error) {
	return j.create(ctx, of, func(of record.Request) (id string, before bool, err error) {
		return j.in.Records.InsertOnce(ctx, key, of)
	})
}

func (j Jobs) create(ctx context.Context, of record.Request,
	insert func(record.Request) (id string, before bool, err error)) (id string, before bool, err error) {
	act, err := begin(ctx, j.in, "run")
	if err != nil {
		return "", false, err
	}
	act.more = "report " + of.Report
	defer func() {
		if act.on = []string{id}; err != nil || !before { // a repeated request is no act
			act.end(ctx, &err)
		}
	}()
	if _, err := reportOf(j.in, of.Report); err != nil {
		return "", false, err
	}
	if n, limit := len(of.Parameters), j.in.Config.Limits.ParameterBytes; int64(n) > limit {
		return "", false, fault.Input.New("the parameters have %d bytes, but limits.parameter_bytes is %d: raise it, or put "+
			"long lists into a table that the queries read", n, limit)
	}
	id, before, err = insert(of)
	switch {
	case errors.Is(err, record.ErrNotCounted), errors.Is(err, record.ErrFiltered):
		return "", false, fault.Refused.New("%w: only its service can insert rows; fanfold submit ID pushes one", err)
	case errors.Is(err, record.ErrOtherRequest), errors.Is(err, record.ErrNoOwner):
		return "", false, fault.Refused.New("%w", err)
	case errors.Is(err, record.ErrNoRequests):
		return "", false, fault.Refused.New("%w; create it with fanfold migrate", err)
	case err != nil:
		return "", false, err
	}
	if before {
		// A second push would only write an event, unless the record is still PENDING.
		switch was, err := j.in.Jobs.Record(ctx, id); {
		case errors.Is(err, engine.ErrNoRecord):
			return "", true, fault.Gone.New("record %s, which this key created, was deleted; use a new key for a new record", id)
		case err != nil:
			return "", true, err // the status is unknown: the client repeats the request
		case was.Status != report.Pending:
			return id, true, nil
		}
	}
	if err := push(ctx, j.in.Scripts, "", id); err != nil {
		return id, before, fmt.Errorf("record %s was inserted; fanfold submit %s pushes it: %w", id, id, err)
	}
	return id, before, nil
}

// Unserved reports whether processes run but none of them has the definition of a report in this
// configuration.
func (j Jobs) Unserved(ctx context.Context, name string) (bool, error) {
	r, err := reportOf(j.in, name)
	if err != nil {
		return false, err
	}
	seen, err := j.in.Scripts.First().Definitions.Seen(ctx)
	return err == nil && seen.AnyLive() && !seen.Live(scripts.DefinitionMember(r.Name, r.Hash())), err
}

// Check checks that every id has a record with a known report and without a final status.
func (j Jobs) Check(ctx context.Context, ids []string) error {
	records, err := j.in.Jobs.Records(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if r := records[id]; j.in.Config.Reports[r.Report] == nil {
			return fault.Refused.New("record %s: report %q is not in the configuration", id, r.Report)
		} else if !r.Status.Known() {
			return fault.Refused.New("record %s has the unknown status %q: set it to PENDING, or map it under "+
				"records.statuses", id, r.Status)
		} else if r.Status.Final() {
			return fault.Refused.New("record %s is %s: fanfold retry %s runs it again", id, r.Status, id)
		}
	}
	return nil
}

// Push appends ids to the streams of jobs. A repeated push has no effect.
func (j Jobs) Push(ctx context.Context, ids ...string) (err error) {
	act, err := begin(ctx, j.in, "submit", ids...)
	if err != nil {
		return err
	}
	defer act.end(ctx, &err)
	return push(ctx, j.in.Scripts, "", ids...)
}

func push(ctx context.Context, to scripts.Partitions, fresherThan string, ids ...string) error {
	with := scripts.PushFields{Traceparent: trace.Parent(ctx), FresherThan: fresherThan}
	for page := range slices.Chunk(ids, pageSize) {
		if err := scripts.Pushes(to).Append(ctx, with, page...); err != nil {
			return fmt.Errorf("push: %w; some of the ids may have been pushed: submit all of them again; repeated ids have "+
				"no effect", err)
		}
	}
	return nil
}

// Retry sets a record with a final status to PENDING, and pushes its id. The job gets the next attempt, which reuses
// the datasets that are kept and no older than within; job.AnyAge: as its report says. It returns what that attempt
// is expected to reuse, for people; empty: nothing is kept.
func (j Jobs) Retry(ctx context.Context, id string, within time.Duration) (plan string, err error) {
	act, err := begin(ctx, j.in, "retry", id)
	if err != nil {
		return "", err
	}
	defer act.end(ctx, &err)
	r, err := j.in.Jobs.Record(ctx, id)
	if err != nil {
		return "", err
	}
	if j.in.Config.Reports[r.Report] == nil {
		return "", fault.Refused.New("record %s: not run again: report %q is not in the configuration", id, r.Report)
	}
	kept, err := j.in.Jobs.Kept(ctx, r, within)
	if err != nil {
		return "", err
	}
	// A PENDING record may not have been pushed; a second push has no effect.
	if r, err := j.in.Records.Retry(ctx, id); err != nil && r.Status != report.Pending {
		return "", j.stillRunning(ctx, id, err)
	}
	if _, err := scripts.DeadJobs(j.in.Scripts).Remove(ctx, id); err != nil {
		return "", err
	}
	fresherThan := ""
	if within != job.AnyAge {
		fresherThan = within.String()
	}
	return kept.Plan(), push(ctx, j.in.Scripts, fresherThan, id)
}

// stillRunning adds the remedy to the error of a record whose job still runs.
func (j Jobs) stillRunning(ctx context.Context, id string, err error) error {
	if !errors.Is(err, record.ErrRunning) {
		return err
	}
	if v, readErr := j.in.Jobs.Get(ctx, id); readErr == nil && v.Orphan {
		return fault.Refused.New("%w, and no process has the definition that the job was started with: fanfold adopt %s "+
			"restarts it with the current one", err, id)
	}
	return fault.Refused.New("%w: fanfold why %s says what it waits for; fanfold cancel %s ends it, and then it can be "+
		"retried", err, id, id)
}
