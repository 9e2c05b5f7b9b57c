package dashboard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
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
	Report       string // and by report; empty: all
	Reports      []string
	Noon         string // the last one
	SinceNoon    string // the text of its link
	Wrong        string // what is wrong with it; empty: nothing
	Key          string // of the group whose jobs are shown; empty: the groups are
	What         string // the report and the reason of the group
	ByReport     table
	Table        table
	Total        int // length of the list in Redis
}

// group has the dead jobs of a report whose reasons differ only in numbers.
type group struct {
	Report, Reason string // the reason of the newest job
	Key            string
	Jobs           int
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
		Report: r.FormValue("report"), Key: r.FormValue("group"),
		Total: len(s.Dead),
	}
	if s.DeadCut() {
		v.Total = max(v.Total, int(s.Figures.Of("jobs_dead", "")))
	}
	now := time.Now()
	noon, since := lastNoon(now)
	v.Noon, v.SinceNoon = fieldOf(noon), since
	failed := failuresOf(s.Dead, noon)
	for _, f := range failed {
		v.Reports = append(v.Reports, f.Report)
	}
	if v.Report != "" {
		v.Reports = append(v.Reports, v.Report)
	}
	slices.Sort(v.Reports)
	v.Reports = slices.Compact(v.Reports)
	of := func(report string) bool { return v.Report != "" && report != v.Report }
	failed = slices.DeleteFunc(failed, func(f failures) bool { return of(f.Report) })
	v.ByReport = v.failures(access.Of(r.Context()), s.DeadCut()).of(r, failed)
	span, err := spanOf(r, now)
	if err != nil {
		v.Wrong = err.Error()
		return "Dead jobs", v, nil
	}
	jobs := slices.DeleteFunc(slices.Clone(s.Dead), func(j inspect.DeadJob) bool {
		return of(j.Report) || !span.Has(j.When)
	})
	if v.Key != "" {
		jobs = slices.DeleteFunc(jobs, func(j inspect.DeadJob) bool { return keyOf(j) != v.Key })
		if len(jobs) > 0 {
			v.What = describe(jobs[0])
		}
		v.Table = deadTable(s.At).of(r, jobs)
		return "Dead jobs", v, nil
	}
	groups := groupsOf(jobs)
	v.Table = d.groups(v, s).of(r, groups)
	return "Dead jobs", v, nil
}

// lastNoon returns the last noon in the zone of a time, and the text of its link.
func lastNoon(now time.Time) (noon time.Time, text string) {
	noon, _ = moment.Ago("noon", now, now.Location())
	if noon.Day() != now.Day() {
		return noon, "since yesterday noon"
	}
	return noon, "since noon"
}

// groupsOf returns the groups of dead jobs, the largest one first.
func groupsOf(jobs []inspect.DeadJob) (groups []group) {
	at := map[string]int{}
	for _, j := range jobs { // newest first
		key := keyOf(j)
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, group{Key: key, Report: j.Report, Reason: cmp.Or(j.Error, j.Note), Last: j.When})
		}
		groups[i].Jobs++
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(b.Jobs, a.Jobs) })
	return groups
}

// groups is the table of groups.
func (d *deadPages) groups(v dead, s *sample) listing[group] {
	return listing[group]{
		name: "groups", label: "Groups of dead jobs", path: "/dead", key: func(g group) string { return g.Key },
		columns: []column[group]{
			{
				key: "jobs", title: "Jobs", class: "number", order: by(func(g group) int { return g.Jobs }),
				cell: func(g group) cell {
					c := cell{Text: count(g.Jobs) + " ×", To: "/dead?" + v.address(v.Report, g.Key).Encode()}
					if s.DeadCut() {
						c.Text = "at least " + c.Text
					}
					return c
				},
			},
			reportColumn(func(g group) string { return g.Report }),
			{
				key: "reason", title: "Reason", class: "reason", order: by(func(g group) string { return g.Reason }),
				cell: text(func(g group) string { return g.Reason }),
			},
			whenColumn("newest", "The newest", s.At, func(g group) *time.Time { return &g.Last }),
			{key: "change", title: "Change", operator: true, cell: func(g group) cell {
				return cell{Acts: v.acts(g, s.DeadCut())}
			}},
		},
	}
}

// acts are the changes of a group. If the sample does not have all its jobs, their number is not known.
func (v dead) acts(g group, cut bool) []act {
	again, discard := "Run all "+count(g.Jobs)+" again …", "Discard all "+count(g.Jobs)+" …"
	switch {
	case cut:
		again, discard = "Run all again …", "Discard all …"
	case g.Jobs == 1:
		again, discard = "Run it again …", "Discard it …"
	}
	fields := []field{{"group", g.Key}, {"since", v.Since}, {"until", v.Until}}
	of := g.Report + ": " + g.Reason
	return []act{
		{Label: again, Of: of, To: "/dead/retry", Asks: true, Fields: fields},
		{Label: discard, Of: of, To: "/dead/discard", Asks: true, Fields: fields},
	}
}

// address has the parameters of the page of a report, of a group, or of both.
func (v dead) address(report, group string) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"report": report, "group": group, "since": v.Since, "until": v.Until} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// deadTable is the table of the jobs of a group.
func deadTable(now time.Time) listing[inspect.DeadJob] {
	id := func(j inspect.DeadJob) string { return j.ID }
	return listing[inspect.DeadJob]{
		name: "dead", label: "Dead jobs of a group", path: "/dead", key: id, columns: []column[inspect.DeadJob]{
			{
				key: "id", title: "Job", order: byID(id),
				cell: func(j inspect.DeadJob) cell { return jobLink(j.ID) },
			},
			whenColumn("failed", "Failed", now, func(j inspect.DeadJob) *time.Time { return &j.When }),
			counted("attempt", "Attempt", func(j inspect.DeadJob) int64 { return j.Attempt }),
			{
				key: "reason", title: "Reason", class: "reason",
				cell: text(func(j inspect.DeadJob) string { return cmp.Or(j.Error, j.Note) }),
			},
		},
	}
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
	return d.sweep(ctx, r, sweep{What: "Run again", Past: ranAgain}, d.o.Operate.Dead.Retry)
}

// discard removes the jobs of a group from the list.
func (d *deadPages) discard(ctx context.Context, r *http.Request) (outcome, error) {
	return d.sweep(ctx, r, sweep{What: "Discard"}, d.o.Operate.Dead.Discard)
}

// changeDead changes the selected dead jobs.
type changeDead func(context.Context, operate.Sweep) (operate.Swept, error)

// sweep starts a change of the dead jobs of a group, which the form identifies by its key.
func (d *deadPages) sweep(ctx context.Context, r *http.Request, one sweep, change changeDead) (outcome, error) {
	span, err := spanOf(r, time.Now())
	if err != nil {
		return outcome{}, err
	}
	one.DryRun = r.PostFormValue("dry") != ""
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
	one.Group, one.Report = describe(listed.Dead[first]), listed.Dead[first].Report
	return d.start(ctx, one, inGroup, change)
}

// start starts a change of the dead jobs that match.
func (d *deadPages) start(
	ctx context.Context, one sweep, match func(inspect.DeadJob) bool, change changeDead,
) (outcome, error) {
	one.Noun, one.Page = "job", "/dead"
	if listed := d.sampler.latest(ctx); !listed.DeadCut() {
		for _, j := range listed.Dead {
			if match(j) {
				one.Of++
			}
		}
	}
	access.Note(ctx, "group", one.Group, "dry_run", one.DryRun)
	user := access.Of(ctx).Name
	err := d.sweeps.start(ctx, one, func(ctx context.Context, each func(operate.Swept)) (operate.Swept, error) {
		return change(ctx, operate.Sweep{Match: match, Of: one.Group, DryRun: one.DryRun, Each: each})
	}, func(s sweep) {
		d.o.Log.Info("dead jobs changed", "user", user, "what", s.What, "group", s.Group,
			"dry_run", s.DryRun, "done", s.Done, "would", s.Would, "left", s.left(), "err", s.Err)
		d.sampler.stale.Store(true)
		d.sampler.wakeUp()
	})
	if one.DryRun {
		text := one.What + ", dry run: nothing is changed. The list below says what would be."
		return outcome{message: text, page: "/dead"}, err
	}
	return outcome{message: one.What + ": started.", page: "/dead"}, err
}

// deadGroup reports whether a job failed in a span and is in the group with a key.
func deadGroup(key string, span moment.Span) func(inspect.DeadJob) bool {
	return func(j inspect.DeadJob) bool { return span.Has(j.When) && keyOf(j) == key }
}

// describe names the group of a dead job.
func describe(j inspect.DeadJob) string { return j.Report + ": " + cmp.Or(j.Error, j.Note) }
