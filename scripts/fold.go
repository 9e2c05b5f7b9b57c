package scripts

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Fold is a job that one worker folds or ends.
type Fold struct {
	*job.State
	Entry   Entry             // its message, which is acknowledged with the job's end; empty: none
	claimed bool              // it has a fence of its own
	data    map[string]string // all fields, if the job is small; nil: Chunks reads them
	s       *conn
}

// Claim says who claims which job.
type Claim struct {
	Message
	Stage       int64    // of the entry; 0 for any
	Worker      string   // unique for every claim
	Known       []string // hashes of the definitions that the caller has
	Redelivered bool     // the entry was delivered before, so its worker may have died
	Entry       Entry
}

// Claim claims a job: OK to fold it, ToFail to end it, both with its state and the fence in
// it; Already if its stage has ended, Busy, Gone, also if its entry is no longer pending,
// Unknown, or Large if its entry was sent on.
func (s Folds) Claim(ctx context.Context, c Claim) (Outcome, *Fold, error) {
	var small any = s.small
	if c.Entry.Stream == s.Keys.FanInLarge {
		small = ""
	}
	args := []any{c.Attempt, c.Stage, c.Worker, Group, c.Entry.ID, asFlag(c.Redelivered), Margin.Milliseconds(),
		c.ID, small}
	claim, fields := call(ctx, "claim", []string{s.Keys.Job(c.ID), s.Keys.FanIn, s.Keys.FanInLarge},
		append(args, asArgs(c.Known)...)...), Jobs{s.conn}.stateCall(ctx, c.ID)
	if err := s.do(ctx, claim, fields); err != nil {
		return 0, nil, err
	}
	reply, err := claim.Slice()
	if err != nil {
		return 0, nil, asError("script claim", err)
	}
	n, ok := reply[0].(int64)
	outcome := Outcome(n)
	if !ok || (outcome == OK || outcome == ToFail) && len(reply) != 2 {
		return 0, nil, fmt.Errorf("script claim: %w: %v", ErrReply, reply)
	}
	if outcome != OK && outcome != ToFail {
		return outcome, nil, nil
	}
	fence, _ := reply[1].(int64)
	state, err := stateOf(c.ID, fields)
	if err == nil && state.Fence != fence {
		// One of the two ran again because Redis had lost it, or another worker has claimed the
		// job, and this fence will be refused.
		state, err = Jobs{s.conn}.Read(ctx, c.ID)
	}
	switch {
	case errors.Is(err, ErrNoJob):
		return Gone, nil, nil
	case err != nil:
		return 0, nil, err
	case state.Attempt != c.Attempt:
		return Gone, nil, nil // started again meanwhile, and fences count from 0 again
	}
	state.Fence = fence
	state.Fold.Tries++ // with this one
	return outcome, &Fold{State: state, Entry: c.Entry, claimed: true, s: s.conn}, nil
}

// Small is a job whose barrier was reached, as its entry names it. Its data is small if Open reads it.
type Small struct {
	Message
	Stage int64 // 0: any, for Claim alone
	Entry Entry
}

// MaxSmall is the max size of the data of a job that is not large, in bytes: one that is read
// at once, together with others.
const MaxSmall = sharedBytes

// expansion is how much larger than its bytes in Redis a compressed job may be.
const expansion = 8

// Open reads jobs whose data is small, in one round trip, with their data. A job that is not
// READY in that stage and attempt, or has data in the spool, is nil: Claim knows what to do with it.
func (s Folds) Open(ctx context.Context, jobs []Small) ([]*Fold, error) {
	cmds := make([]redis.Cmder, len(jobs))
	for i, j := range jobs {
		cmds[i] = redis.NewMapStringStringCmd(ctx, "hgetall", s.Keys.Job(j.ID))
	}
	if err := s.do(ctx, cmds...); err != nil {
		return nil, err
	}
	folds := make([]*Fold, len(jobs))
	for i, j := range jobs {
		fields, err := cmds[i].(*redis.MapStringStringCmd).Result()
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil, fmt.Errorf("read %s: %w", s.Keys.Job(j.ID), err)
		}
		state, err := job.Parse(j.ID, fields)
		if err != nil || state.Attempt != j.Attempt || state.Stage != j.Stage || state.Status != job.StatusReady ||
			state.Spooled > 0 {
			continue
		}
		state.Fold.Tries = 1
		folds[i] = &Fold{State: state, Entry: j.Entry, data: fields, s: s.conn}
	}
	return folds, nil
}

// Claimed tells whether the job is claimed: by Claim, or by Publish. Nobody has claimed what is nil.
func (f *Fold) Claimed() bool { return f != nil && f.claimed }

// Renew renews the lease of a job, and keeps its message from being taken over: OK, Busy if
// the job is no longer this worker's, or Gone.
func (f *Fold) Renew(ctx context.Context) (Outcome, error) {
	c := f.claim(job.StepFanIn)
	c.token = f.fence()
	return c.renew(ctx, 0)
}

// fence is that of a claim, as an argument; empty if the job is not claimed.
func (f *Fold) fence() string {
	if !f.claimed {
		return ""
	}
	return strconv.FormatInt(f.Fence, 10)
}

func (f *Fold) claim(step string) claim {
	return claim{conn: f.s, id: f.ID, attempt: f.Attempt, step: step, token: strconv.FormatInt(f.Fence, 10),
		entry: f.Entry}
}

// Publish takes jobs over the point of no return: OK, Late if the deadline has passed, Busy,
// Gone or Broken for every job. It claims those that are not claimed.
func (s Folds) Publish(ctx context.Context, folds ...*Fold) ([]Outcome, error) {
	outcomes, err := s.batches(ctx, len(folds), func(from, to int) *redis.Cmd {
		keys, args := make([]string, 0, to-from), make([]any, 0, 4*(to-from))
		for _, f := range folds[from:to] {
			keys, args = append(keys, s.Keys.Job(f.ID)), append(args, f.Attempt, f.Stage, f.fence(), f.Entry.ID)
		}
		return call(ctx, "publish", keys, args...)
	})
	for i, o := range outcomes {
		if o <= 0 {
			continue
		}
		f := folds[i]
		if !f.claimed { // Renew reads both at the same time
			f.Fence, f.claimed = int64(o), true
		}
		f.Status, outcomes[i] = job.StatusPublishing, OK
	}
	return outcomes, err
}

// Advance sends a job from its stage into the next one, whose listeners are given, and
// acknowledges its entry: OK, Busy, or Gone.
func (f *Fold) Advance(ctx context.Context, listeners []string) (Outcome, error) {
	s := f.s
	keys := []string{s.Keys.Job(f.ID), s.Keys.Events, f.claim(job.StepFanIn).stream()}
	args := []any{f.ID, f.Attempt, f.Stage, f.fence(), s.events, Group, f.Entry.ID, maxInline}
	for _, l := range listeners {
		keys, args = append(keys, s.Keys.Task(l)), append(args, l)
	}
	return s.outcome(ctx, call(ctx, "advance", keys, args...))
}

// Fail fails a claimed job; its claim goes on, in order to end it: OK, Already, Busy or Gone.
// With remove, the worker that ends it removes its file.
func (f *Fold) Fail(ctx context.Context, reason string, blame job.Blame, remove bool) (Outcome, error) {
	c := f.claim(job.StepFanIn)
	c.entry = Entry{} // it stays, in order to end the job
	outcome, _, err := c.fail(ctx, failure{reason: reason, blame: blame, remove: remove})
	return outcome, err
}

// Requeue gives up a claimed job, to be tried again: as job.StepFanIn, or as job.StepRecord if only
// its record is left to be changed. It acknowledges the job's entry: OK, Busy, or Gone.
func (f *Fold) Requeue(ctx context.Context, step string, a Requeue) (Outcome, error) {
	return f.claim(step).requeue(ctx, a)
}

// End is a claimed job whose record is final.
type End struct {
	*Fold
	Status string // such as SUCCESS
	Detail string // the file if the status is SUCCESS or PARTIAL, else the reason
	Notify bool   // a scheduler notifies the service of the report
}

// Settle ends jobs and acknowledges their entries, which are of one stream: OK, Busy, Gone or Broken
// for every job. With lanes, their slots are taken back in the same round trip.
func (s Folds) Settle(ctx context.Context, ends ...End) ([]Outcome, error) {
	before, err := Fallbacks{s.conn}.before(ctx, ends)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(ends))
	for i, e := range ends {
		ids[i] = e.ID
	}
	return s.batches(ctx, len(ends), func(from, to int) *redis.Cmd {
		n := to - from
		keys := append(make([]string, 0, 8+2*n), s.Keys.Deadlines, s.Keys.Dead, s.Keys.Events,
			ends[from].claim(job.StepFanIn).stream(), s.Keys.Finished, s.Keys.ReplyTo, s.Keys.Contenders,
			s.Keys.Fallbacks)
		args := append(make([]any, 0, 4+10*n), n, TombstoneTTL.Milliseconds(), s.events, Group)
		var kept []string
		for _, e := range ends[from:to] {
			keys = append(keys, s.Keys.Job(e.ID), s.Keys.Ended(e.ID))
			firing, key, replaced, next := "", "", "", strconv.Itoa(9+2*n+len(kept))
			switch {
			case e.Keep.After(e.Status):
				key, kept = next, append(kept, s.Keys.Kept(e.ID))
			case e.Keep.Good(e.Status):
				fallback := s.Keys.Fallback(e.Report, digest(e.Parameters))
				replaced = before[fallback]
				key, kept = next, append(kept, s.Keys.Good(e.ID), fallback, s.Keys.Good(replaced))
			}
			if e.Notify {
				firing = job.EndOf(e.ID, e.Attempt)
			}
			args = append(args, e.ID, e.Attempt, e.Fence, e.Status, e.Detail, e.Entry.ID, e.Summary(), firing, key,
				replaced)
		}
		return call(ctx, "settle", append(keys, kept...), args...)
	}, s.lanes.left(ctx, ids...)...)
}

// HandBack leaves a job to a process that has its definition, after a second, and
// acknowledges its entry.
func (s Folds) HandBack(ctx context.Context, m Message, entry Entry) error {
	return claim{conn: s.conn, id: m.ID, attempt: m.Attempt, step: job.StepFanIn, entry: entry}.handBack(ctx)
}
