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

// Pause is why no work begins.
type Pause struct {
	Since  time.Time
	Until  time.Time // zero: until it is resumed
	Who    string    // login, or user@host
	Reason string
}

// Pauses has the pauses by member.
type Pauses map[string]Pause

// PausedSource is the member of a database or an API that is paused, PausedListener that of a listener, PausedReport
// that of a report.
func PausedSource(name string) string   { return "source/" + name }
func PausedListener(name string) string { return "listener/" + name }
func PausedReport(name string) string   { return "report/" + name }

// Stops returns the member whose pause keeps tasks of a listener from starting: its own one, or that of a source if
// all sources that it reads are paused; empty: none.
func (p Pauses) Stops(listener string, sources ...string) (member string) {
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
func (p Pauses) since(listener string, sources []string) (first time.Time) {
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

// maxPausesAge is the maximum age of the cached pauses.
const maxPausesAge = 500 * time.Millisecond

// Paused returns what is paused.
func (s Gate) Paused(ctx context.Context) (Pauses, error) {
	found, ended, err := s.pauses(ctx)
	for member := range ended {
		delete(found, member)
	}
	return found, err
}

// pauses returns all pauses, and those of them whose end has passed.
func (s Gate) pauses(ctx context.Context) (all, ended Pauses, err error) {
	now, flat, err := s.list(ctx, call(ctx, "pauses", []string{s.Keys.Paused}))
	if err != nil {
		return nil, nil, fmt.Errorf("what is paused: %w", err)
	}
	all, ended = Pauses{}, Pauses{}
	for pair := range slices.Chunk(flat, 2) {
		member, _ := pair[0].(string)
		text, _ := pair[1].(string)
		var of struct {
			Since, Until int64
			Who, Reason  string
		}
		if err := json.Unmarshal([]byte(text), &of); err != nil {
			return nil, nil, fmt.Errorf("pause of %s: %w: %q", member, ErrReply, text)
		}
		one := Pause{Since: time.UnixMilli(of.Since), Who: of.Who, Reason: of.Reason}
		if of.Until > 0 {
			one.Until = time.UnixMilli(of.Until)
		}
		if all[member] = one; of.Until > 0 && of.Until <= int64(now) {
			ended[member] = one
		}
	}
	return all, ended, nil
}

// Recent returns what is paused. The answer can be up to half a second old, and is shared: do not change it.
func (s Gate) Recent(ctx context.Context) (Pauses, error) { return s.paused.Get(ctx, struct{}{}) }

// IsPaused tells whether a member is paused, as Recent knows it.
func (s Gate) IsPaused(ctx context.Context, member string) (bool, error) {
	found, err := s.Recent(ctx)
	_, ok := found[member]
	return ok, err
}

// pause pauses a member until a time, or replaces its pause, and returns since when it is paused.
func (s Gate) pause(ctx context.Context, member string, of Pause) (since time.Time, err error) {
	until := int64(0)
	if !of.Until.IsZero() {
		until = of.Until.UnixMilli()
	}
	at, err := s.outcome(ctx, call(ctx, "pause", []string{s.Keys.Paused}, member, until, of.Who, of.Reason))
	if err != nil {
		return since, fmt.Errorf("pause %s: %w", member, err)
	}
	return time.UnixMilli(int64(at)), nil
}

// resume ends a pause, and returns how many ids of a report it pushed; none of one that is limited. Late says that the
// end of the pause has passed: one that was replaced meanwhile stays.
func (s Gate) resume(ctx context.Context, member string, all Pauses, limited, late bool) (released int, err error) {
	report, isReport := strings.CutPrefix(member, PausedReport(""))
	release := func(now bool) {
		if err == nil && isReport && !limited && now {
			released, err = s.ReleaseAll(ctx, report)
		}
	}
	if !isReport {
		err = s.extendAll(ctx, all)
	}
	release(late) // before, so that it is repeated after a crash: a pause that has ended keeps no more ids
	if err == nil {
		if err = s.send(ctx, call(ctx, "resume", []string{s.Keys.Paused}, member, late)); err != nil {
			err = fmt.Errorf("resume %s: %w", member, err)
		}
	}
	release(!late)
	return released, err
}

// EndPauses resumes what was paused until a time that has passed. Limited says which reports have a limit of running
// jobs.
func (s Gate) EndPauses(ctx context.Context, limited func(report string) bool) error {
	all, ended, err := s.pauses(ctx)
	for member := range ended {
		_, failed := s.resume(ctx, member, all, limited(strings.TrimPrefix(member, PausedReport(""))), true)
		err = errors.Join(err, failed)
	}
	return err
}

// extendAll moves the deadlines of the jobs that wait for what is paused, if their reports are
// configured so.
func (s Gate) extendAll(ctx context.Context, found Pauses) error {
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
func (s Gate) extend(ctx context.Context, id string, paused Pauses, min time.Duration) (Outcome, error) {
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
	// Read after that: a resume of the report may have released the others before this one was
	// added, or may be removing this one after pushing it.
	found, err := s.Paused(ctx)
	if _, ok := found[PausedReport(report)]; err == nil && !ok {
		s.paused.Forget() // an id that is released now must not be parked again
		if err = (Streams{s.conn}).Push(ctx, map[string]string{"id": id}); err == nil {
			err = s.send(ctx, redis.NewIntCmd(ctx, "zrem", s.Keys.Waiting(report), id))
		}
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
