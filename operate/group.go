package operate

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// maxGroup is the maximum number of jobs that one act on a group changes: their records are in memory.
const maxGroup = 100_000

// Group selects the records without a final status that match all fields.
type Group struct {
	Report     string
	Parameters map[string]string // as those of record.Filter
	Waiting    bool              // only those whose job has not started
	DryRun     bool              // change nothing, only count
}

// String says for people which records it selects.
func (g Group) String() string {
	texts := []string{"open jobs"}
	if g.Waiting {
		texts[0] = "waiting jobs"
	}
	if g.Report != "" {
		texts = append(texts, "of "+g.Report)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Parameters)) {
		texts = append(texts, "with "+name+"="+g.Parameters[name])
	}
	return strings.Join(texts, " ")
}

// Groups changes the jobs of a group.
type Groups struct{ in *inspect.Inspector }

// Cancel cancels the jobs of a group, those that have not started first, so that few of them start meanwhile. On an
// error, Swept says what was done before it.
func (of Groups) Cancel(ctx context.Context, g Group, reason string) (Swept, error) {
	return g.sweep(ctx, of.in, "cancel", reason, func(ctx context.Context, r engine.Record) error {
		if g.DryRun {
			return nil
		}
		_, err := cancel(ctx, Jobs{of.in}, r.ID, reason, g.Waiting)
		return err
	})
}

// Postpone makes the jobs of a group due later, see Delayed.Postpone. On an error, Swept says what was done before it.
func (of Groups) Postpone(ctx context.Context, g Group, by time.Duration) (Swept, error) {
	return g.sweep(ctx, of.in, "delay", "by "+by.String(), func(ctx context.Context, r engine.Record) error {
		return Delayed{of.in}.postpone(ctx, r, by, g.DryRun)
	})
}

// sweep changes the jobs of a group, and counts the reasons of refusals.
func (g Group) sweep(ctx context.Context, in *inspect.Inspector, name, more string,
	change func(context.Context, engine.Record) error) (result Swept, err error) {
	var done []string
	if !g.DryRun {
		var a *act
		if a, err = begin(ctx, in, name); err != nil {
			return Swept{}, err
		}
		a.more = g.String() + ": " + more
		defer func() { a.endGroup(ctx, done, &err) }()
	}
	filter := record.Filter{Report: g.Report, Parameters: g.Parameters, Open: true}
	if g.Waiting {
		filter.Status = report.Pending
	}
	records, err := in.Jobs.Search(ctx, filter, maxGroup+1)
	if err != nil {
		return Swept{}, err
	}
	if len(records) > maxGroup {
		return Swept{}, fault.Refused.New("more than %d jobs match: select fewer", maxGroup)
	}
	slices.SortStableFunc(records, func(a, b engine.Record) int { return cmp.Compare(a.Status, b.Status) })
	result = Swept{Left: map[string]int{}, ByReport: map[string]int{}, Examples: map[string]string{}}
	for _, r := range records {
		switch err := change(ctx, r); {
		case err != nil && !Refused(err):
			return result, err
		case err != nil:
			itself := regexp.MustCompile(`\b` + regexp.QuoteMeta(r.ID) + `\b`)
			result.Left[itself.ReplaceAllLiteralString(err.Error(), "ID")]++
			continue
		case g.DryRun:
			result.Would++
		default:
			result.Done++
			done = append(done, r.ID)
		}
		result.ByReport[r.Report]++
		result.Examples[r.Report] = r.ID
	}
	return result, nil
}
