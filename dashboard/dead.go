package dashboard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
)

// deadPages lists dead jobs in groups, and changes groups.
type deadPages struct {
	o       Options
	sampler *sampler
	sweeps  sweeps
}

// dead is the content of the page of dead jobs.
type dead struct {
	Since, Until string // the filter, by the time of failure
	Wrong        string // what is wrong with it; empty: nothing
	Groups       []group
	Total        int // length of the list in Redis
	Sweeps       []sweep
}

// group has the dead jobs of a report whose reasons differ only in numbers.
type group struct {
	Report, Reason string // the reason of the newest job
	Key            string
	Jobs           []inspect.DeadJob
	Last           time.Time
}

// keyOf returns the key of a job's group.
func keyOf(j inspect.DeadJob) string {
	sum := sha256.Sum256([]byte(j.Report + "\x00" + numbers.ReplaceAllString(j.Error, "0") + "\x00" + j.Note))
	return hex.EncodeToString(sum[:])
}

var numbers = regexp.MustCompile(`[0-9]+`)

func (v dead) refused() bool { return v.Wrong != "" }

func (d *deadPages) list(_ context.Context, r *http.Request, s *sample) (string, any, error) {
	v := dead{
		Since: r.FormValue("since"), Until: r.FormValue("until"),
		Total: int(s.Figures.Of("jobs_dead", "")), Sweeps: d.sweeps.list(),
	}
	span, err := spanOf(r, time.Now())
	if err != nil {
		v.Wrong = err.Error()
		return "Dead jobs", v, nil
	}
	at := map[string]int{}
	for _, j := range s.Dead { // newest first
		if !span.Has(j.When) {
			continue
		}
		key := keyOf(j)
		i, ok := at[key]
		if !ok {
			i = len(v.Groups)
			at[key] = i
			one := group{Key: key, Report: j.Report, Reason: cmp.Or(j.Error, j.Note), Last: j.When}
			v.Groups = append(v.Groups, one)
		}
		v.Groups[i].Jobs = append(v.Groups[i].Jobs, j)
	}
	slices.SortStableFunc(v.Groups, func(a, b group) int { return cmp.Compare(len(b.Jobs), len(a.Jobs)) })
	return "Dead jobs", v, nil
}

// confirm asks before a change of a group of dead jobs. Jobs that fail after the question are not in it.
func (d *deadPages) confirm(r *http.Request, s *sample, q question) (string, any, error) {
	now := time.Now()
	span, err := spanOf(r, now)
	if err != nil {
		return "", nil, err
	}
	if span.Until.IsZero() {
		span.Until = now
	}
	group := deadGroup(r.FormValue("group"), span)
	first, n := slices.IndexFunc(s.Dead, group), 0
	if first < 0 {
		return "", nil, errNoGroup
	}
	for _, j := range s.Dead {
		if group(j) {
			n++
		}
	}
	jobs, what := words.Count(n, "job"), describe(s.Dead[first])
	if s.DeadCut() {
		jobs = "at least " + jobs
	}
	q.Back, q.DryRun = "/dead", true
	for _, f := range []field{
		{"group", r.FormValue("group")},
		{"since", fieldOf(span.Since)},
		{"until", fieldOf(span.Until)},
	} {
		if f.Value != "" {
			q.Fields = append(q.Fields, f)
		}
	}
	if q.To == "/dead/retry" {
		q.Button = "Run " + jobs + " again"
		q.Text = what + ". Each job starts its next attempt, which queries its sources again."
	} else {
		q.Button = "Discard " + jobs
		q.Text = what + ". The jobs are removed from the list, and their records stay FAILED. " +
			"fanfold retry can still run each of them again by its id."
	}
	return q.Button + "?", q, nil
}

// errNoGroup is the error of a group without a dead job.
var errNoGroup = fault.NotFound.New("this group of dead jobs no longer exists: its jobs were retried or discarded")

// retry runs the jobs of a group again.
func (d *deadPages) retry(ctx context.Context, r *http.Request) (outcome, error) {
	return d.sweep(ctx, r, "Run again", d.o.Operate.Dead.Retry)
}

// discard removes the jobs of a group from the list.
func (d *deadPages) discard(ctx context.Context, r *http.Request) (outcome, error) {
	return d.sweep(ctx, r, "Discard", d.o.Operate.Dead.Discard)
}

// sweep starts a change of the dead jobs of a group, which the form identifies by its key.
func (d *deadPages) sweep(
	ctx context.Context, r *http.Request, what string,
	change func(context.Context, operate.Sweep) (operate.Swept, error),
) (outcome, error) {
	span, err := spanOf(r, time.Now())
	if err != nil {
		return outcome{}, err
	}
	one := sweep{What: what, DryRun: r.PostFormValue("dry") != ""}
	if err := confirmed(r); err != nil && !one.DryRun {
		return outcome{}, err
	}
	inGroup := deadGroup(r.PostFormValue("group"), span)
	listed := d.sampler.latest(ctx)
	first := slices.IndexFunc(listed.Dead, inGroup)
	if first < 0 { // the sample may be older than the page
		limited, cancel := context.WithTimeout(ctx, refreshTimeout)
		defer cancel()
		d.sampler.refresh(limited)
		listed = d.sampler.latest(ctx)
		first = slices.IndexFunc(listed.Dead, inGroup)
	}
	if first < 0 {
		return outcome{}, errNoGroup
	}
	one.Group = describe(listed.Dead[first])
	for _, j := range listed.Dead {
		if inGroup(j) && !listed.DeadCut() {
			one.Of++
		}
	}
	access.Note(ctx, "group", one.Group, "dry_run", one.DryRun)
	user := access.Of(ctx).Name
	err = d.sweeps.start(one, func(ctx context.Context, each func(operate.Swept)) (operate.Swept, error) {
		return change(ctx, operate.Sweep{Match: inGroup, DryRun: one.DryRun, Each: each})
	}, func(s sweep) {
		d.o.Log.Info("dead jobs changed", "user", user, "what", what, "group", s.Group,
			"dry_run", s.DryRun, "done", s.Done, "would", s.Would, "left", s.left(), "err", s.Err)
		d.sampler.stale.Store(true)
		d.sampler.wakeUp()
	})
	if one.DryRun {
		return outcome{what + ", dry run: nothing is changed. The list below says what would be.", "/dead"}, err
	}
	return outcome{what + ": started.", "/dead"}, err
}

// deadGroup reports whether a job failed in a span and is in the group with a key.
func deadGroup(key string, span moment.Span) func(inspect.DeadJob) bool {
	return func(j inspect.DeadJob) bool { return span.Has(j.When) && keyOf(j) == key }
}

// describe names the group of a dead job.
func describe(j inspect.DeadJob) string { return j.Report + ": " + cmp.Or(j.Error, j.Note) }
