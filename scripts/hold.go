package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Hold is a pause, which keeps all work from beginning, or the limit that a source or a report has instead of that of
// the configuration.
type Hold struct {
	Since  time.Time
	Until  time.Time // zero: until somebody removes it
	Who    string    // login, or user@host
	Reason string
	Limit  int // 0: a pause
}

// Holds has the holds by member.
type Holds map[string]Hold

// PausedSource is the member of a database or an API that is paused, PausedListener that of a listener, PausedReport
// that of a report.
func PausedSource(name string) string   { return "source/" + name }
func PausedListener(name string) string { return "listener/" + name }
func PausedReport(name string) string   { return "report/" + name }

// LimitOf returns the member that has the limit of what PausedSource or PausedReport names.
func LimitOf(what string) string { return limits + what }

const limits = "limit/"

// Limit returns how many tasks of a source or jobs of a report may run, if the configuration says configured; 0: any
// number.
func (p Holds) Limit(what string, configured int) int {
	if one, ok := p[LimitOf(what)]; ok {
		return one.Limit
	}
	return configured
}

// Pauses returns the pauses.
func (p Holds) Pauses() Holds {
	return selected(p, func(member string) (string, bool) { return member, !strings.HasPrefix(member, limits) })
}

// Limits returns the limits, by what PausedSource or PausedReport names.
func (p Holds) Limits() Holds {
	return selected(p, func(member string) (string, bool) { return strings.CutPrefix(member, limits) })
}

func selected(p Holds, name func(member string) (string, bool)) Holds {
	some := Holds{}
	for member, one := range p {
		if as, ok := name(member); ok {
			some[as] = one
		}
	}
	return some
}

// Stops returns the member whose pause keeps tasks of a listener from starting: its own one, or that of a source if
// all sources that it reads are paused; empty: none.
func (p Holds) Stops(listener string, sources ...string) (member string) {
	if _, ok := p[PausedListener(listener)]; ok {
		return PausedListener(listener)
	}
	for _, source := range sources {
		if _, ok := p[PausedSource(source)]; !ok {
			return ""
		}
		member = PausedSource(source)
	}
	return member
}

// since returns when the first pause began for which a listener may wait; zero: there is none.
func (p Holds) since(listener string, sources []string) (first time.Time) {
	members := []string{PausedListener(listener)}
	for _, source := range sources {
		members = append(members, PausedSource(source))
	}
	for _, member := range members {
		if one, ok := p[member]; ok && (first.IsZero() || one.Since.Before(first)) {
			first = one.Since
		}
	}
	return first
}

// maxHoldsAge is the maximum age of the cached holds.
const maxHoldsAge = 500 * time.Millisecond

// Holds returns all pauses and limits.
func (s Gate) Holds(ctx context.Context) (Holds, error) {
	found, ended, err := s.all(ctx)
	for member := range ended {
		delete(found, member)
	}
	return found, err
}

// all returns all holds, and those of them whose end has passed.
func (s Gate) all(ctx context.Context) (all, ended Holds, err error) {
	now, flat, err := s.list(ctx, call(ctx, "holds", []string{s.Keys.Holds}))
	if err != nil {
		return nil, nil, fmt.Errorf("pauses and limits: %w", err)
	}
	all, ended = Holds{}, Holds{}
	for pair := range slices.Chunk(flat, 2) {
		member, _ := pair[0].(string)
		text, _ := pair[1].(string)
		var of struct {
			Since, Until int64
			Who, Reason  string
			Limit        int
		}
		if err := json.Unmarshal([]byte(text), &of); err != nil {
			return nil, nil, fmt.Errorf("hold of %s: %w: %q", member, ErrReply, text)
		}
		one := Hold{Since: time.UnixMilli(of.Since), Who: of.Who, Reason: of.Reason, Limit: of.Limit}
		if of.Until > 0 {
			one.Until = time.UnixMilli(of.Until)
		}
		if all[member] = one; of.Until > 0 && of.Until <= int64(now) {
			ended[member] = one
		}
	}
	return all, ended, nil
}

// Recent returns all pauses and limits. The answer can be up to half a second old, and is shared: do not change it.
func (s Gate) Recent(ctx context.Context) (Holds, error) { return s.holds.Get(ctx, struct{}{}) }

// IsPaused tells whether a member is paused, as Recent knows it.
func (s Gate) IsPaused(ctx context.Context, member string) (bool, error) {
	found, err := s.Recent(ctx)
	_, ok := found[member]
	return ok, err
}

// hold sets a hold, or replaces one, and returns since when it is there.
func (s Gate) hold(ctx context.Context, member string, of Hold) (since time.Time, err error) {
	until := int64(0)
	if !of.Until.IsZero() {
		until = of.Until.UnixMilli()
	}
	at, err := s.outcome(ctx, call(ctx, "hold", []string{s.Keys.Holds}, member, until, of.Who, of.Reason, of.Limit))
	if err != nil {
		return since, fmt.Errorf("hold %s: %w", member, err)
	}
	return time.UnixMilli(int64(at)), nil
}

// unhold ends a hold. It returns whether there was one that had not ended, and how many ids of a report it pushed: none
// if something else holds them, such as a limit in the configuration. Late ends it only if its time has passed.
func (s Gate) unhold(ctx context.Context, member string, limited, late bool) (was bool, released int, err error) {
	all, ended, err := s.all(ctx)
	_, over := ended[member]
	if err != nil || late && !over {
		return false, 0, err
	}
	_, was = all[member]
	report, isReport := strings.CutPrefix(strings.TrimPrefix(member, limits), PausedReport(""))
	release := func(now bool) {
		if err != nil || !isReport || !now || limited {
			return
		}
		// Read again: the other hold may have ended meanwhile.
		var held Holds
		if held, err = s.Holds(ctx); err == nil && !held.holdsOther(member) {
			released, err = s.ReleaseAll(ctx, report)
		}
	}
	if !isReport && !strings.HasPrefix(member, limits) {
		err = s.extendAll(ctx, all)
	}
	release(over) // before, so that it is repeated after a crash: a pause that has ended keeps no more ids
	if err == nil {
		if err = s.send(ctx, call(ctx, "unhold", []string{s.Keys.Holds}, member, over)); err != nil {
			err = fmt.Errorf("end the hold of %s: %w", member, err)
		}
	}
	release(!over)
	return was && !over, released, err
}

// holdsOther tells whether a report has another hold: a limit beside its pause, or a pause beside its limit.
func (p Holds) holdsOther(member string) bool {
	other, isLimit := strings.CutPrefix(member, limits)
	if !isLimit {
		other = LimitOf(member)
	}
	_, there := p[other]
	return there
}

// EndHolds ends the holds whose time has passed. Limited says which reports the configuration limits.
func (s Gate) EndHolds(ctx context.Context, limited func(report string) bool) error {
	_, ended, err := s.all(ctx)
	for member := range ended {
		report := strings.TrimPrefix(strings.TrimPrefix(member, limits), PausedReport(""))
		_, _, failed := s.unhold(ctx, member, limited(report), true)
		err = errors.Join(err, failed)
	}
	return err
}

// extendAll moves the deadlines of the jobs that wait for what is paused, if their reports are
// configured so.
func (s Gate) extendAll(ctx context.Context, found Holds) error {
	// A job that starts from now on has hardly waited.
	ids, err := s.rdb.ZRange(ctx, s.Keys.Deadlines, 0, -1).Result()
	if err != nil {
		return fmt.Errorf("running jobs: %w", err)
	}
	for _, id := range ids {
		if _, err := s.extend(ctx, id, found, 0); err != nil && !errors.Is(err, ErrBroken) {
			return err
		}
	}
	return nil
}

// extend moves the deadline of a job that waits for a listener that is paused: OK,
// Busy if it does not move, or Gone. At least min is left then.
func (s Gate) extend(ctx context.Context, id string, paused Holds, min time.Duration) (Outcome, error) {
	have := redis.NewSliceCmd(ctx, "hmget", s.Keys.Job(id), "waits", "job", "listeners")
	if err := s.send(ctx, have); err != nil {
		return 0, err
	}
	waits, _ := have.Val()[0].(string)
	line, _ := have.Val()[1].(string)
	listeners, _ := have.Val()[2].(string)
	attempt, _ := job.Head(line)
	args := []any{id, attempt, Margin.Milliseconds(), min.Milliseconds()}
	for l := range strings.SplitSeq(job.AllListeners(listeners), ",") {
		if since := paused.since(l, s.sources[l]); !since.IsZero() {
			args = append(args, l, since.UnixMilli())
		}
	}
	if waits == "" || len(args) == 4 {
		return Busy, nil
	}
	outcome, _, err := s.list(ctx, call(ctx, "extend",
		[]string{s.Keys.Job(id), s.Keys.Deadlines, s.Keys.Wake}, args...))
	return outcome, err
}

// minExtended is the minimum extension of a deadline that passes during a pause.
const minExtended = time.Second

// releasePage is how many ids are released at once.
const releasePage = 500

// Park keeps the id of a record whose report is paused until the report is resumed.
func (s Gate) Park(ctx context.Context, report, id string) error {
	if _, err := s.outcome(ctx, call(ctx, "delay", []string{s.Keys.Waiting(report)}, id, 0)); err != nil {
		return err
	}
	return s.recheck(ctx, report, id, func(p Holds) bool {
		_, ok := p[PausedReport(report)]
		return ok
	})
}

// Queue keeps the id of a record that has no slot, until Release. Configured is the limit of its report in the
// configuration.
func (s Gate) Queue(ctx context.Context, report, id string, configured int) error {
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	if err := s.send(ctx, redis.NewIntCmd(ctx, "zadd", s.Keys.Waiting(report), "nx", now.UnixMilli(), id)); err != nil {
		return err
	}
	return s.recheck(ctx, report, id, func(p Holds) bool { return p.Limit(PausedReport(report), configured) > 0 })
}

// recheck pushes an id that was added to those that wait, if nothing holds it. The hold of its report may have ended,
// and the others may have been released, before this one was added; or this one is being removed after it was pushed.
func (s Gate) recheck(ctx context.Context, report, id string, held func(Holds) bool) error {
	found, err := s.Holds(ctx)
	if err == nil && !held(found) {
		s.holds.Forget() // an id that is released now must not be kept again
		_, err = s.Release(ctx, report, []string{id})
	}
	return err
}

// Waiting returns the ids that wait for a report, in their order, at most max of them.
func (s Gate) Waiting(ctx context.Context, report string, max int) ([]string, error) {
	ids, err := s.rdb.ZRange(ctx, s.Keys.Waiting(report), 0, int64(max)-1).Result()
	if err != nil {
		return nil, fmt.Errorf("ids that wait for %s: %w", report, err)
	}
	return ids, nil
}

// Release pushes ids that wait for a report, and returns how many it pushed.
func (s Gate) Release(ctx context.Context, report string, ids []string) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	n, err := s.outcome(ctx, call(ctx, "release", []string{s.Keys.Waiting(report), s.Keys.Jobs}, asArgs(ids)...))
	return int(n), err
}

// ReleaseAll pushes all ids that wait for a report, in their order, and returns how many it pushed.
func (s Gate) ReleaseAll(ctx context.Context, report string) (n int, err error) {
	for {
		ids, err := s.Waiting(ctx, report, releasePage)
		if err != nil || len(ids) == 0 {
			return n, err
		}
		released, err := s.Release(ctx, report, ids)
		if n += released; err != nil {
			return n, err
		}
	}
}
