package operate

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/scripts"
)

// Limits changes how many tasks of a source, or jobs of a report, run at once, while processes run.
type Limits struct{ in *inspect.Inspector }

// maxLimit is the maximum that the configuration allows, too.
const maxLimit = 10000

// Set replaces the limit of the configuration: parallel of what scripts.PausedSource names, or running of what
// PausedReport names. What runs continues, also above the limit. Tasks and jobs that began when there was no limit are
// not counted.
func (l Limits) Set(ctx context.Context, what string, n int, of Terms) (limit inspect.Limit, err error) {
	act, err := begin(ctx, l.in, "limit", what)
	if err != nil {
		return limit, err
	}
	defer act.end(ctx, &err)
	if err := l.Check(what); err != nil {
		return limit, err
	}
	if n < 1 || n > maxLimit {
		return limit, fault.Input.New("a limit is a number from 1 to %d, not %d; a pause lets nothing begin", maxLimit, n)
	}
	one := scripts.Hold{Who: whoOf(act.by), Reason: of.Reason, Limit: n}
	if one.Until, err = of.end(ctx, l.in); err != nil {
		return limit, err
	}
	act.more = strings.TrimSuffix(strconv.Itoa(n)+", "+of.text(one.Until), ", ")
	one.Since, err = l.in.Scripts.Hold(ctx, scripts.LimitOf(what), one)
	if err != nil && !one.Since.IsZero() {
		err = fmt.Errorf("%s is limited in the other partitions; set the limit again once this one answers: %w", what, err)
	}
	return l.in.Limits.Of(what, one), err
}

// Check checks that something exists and can be limited.
func (l Limits) Check(what string) error {
	if strings.HasPrefix(what, scripts.PausedListener("")) {
		return fault.Input.New("only a source or a report can be limited, not %s", what)
	}
	return Pauses(l).Check(what)
}

// Reset ends a limit, so that the one of the configuration holds again, and returns whether there was one. It accepts
// any name, because what is limited may have been removed from the configuration.
func (l Limits) Reset(ctx context.Context, what string) (was bool, err error) {
	act, err := begin(ctx, l.in, "reset limit", what)
	if err != nil {
		return false, err
	}
	defer act.end(ctx, &err)
	name, _ := strings.CutPrefix(what, scripts.PausedReport(""))
	r := l.in.Config.Reports[name]
	was, _, err = l.in.Scripts.Unhold(ctx, scripts.LimitOf(what), r != nil && r.Running > 0)
	return was, err
}
