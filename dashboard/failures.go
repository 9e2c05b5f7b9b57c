package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
)

// failures are the dead jobs of a report.
type failures struct {
	Report     string
	Noon, Jobs int // since the last noon, and in all
}

// failuresOf counts the dead jobs of every report, the report with the most of them since noon first.
func failuresOf(jobs []inspect.DeadJob, noon time.Time) (all []failures) {
	at := map[string]int{}
	for _, j := range jobs {
		if j.Report == "" { // its record is gone
			continue
		}
		i, ok := at[j.Report]
		if !ok {
			i = len(all)
			at[j.Report] = i
			all = append(all, failures{Report: j.Report})
		}
		all[i].Jobs++
		if !j.When.Before(noon) {
			all[i].Noon++
		}
	}
	slices.SortFunc(all, func(a, b failures) int {
		return cmp.Or(cmp.Compare(b.Noon, a.Noon), cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Report, b.Report))
	})
	return all
}

// failures is the table of reports with dead jobs. Its buttons do not ask first, because a retry destroys nothing.
func (v dead) failures(who access.Who, cut bool) listing[failures] {
	number := func(n int) string {
		if cut {
			return "at least " + count(n)
		}
		return count(n)
	}
	all := listing[failures]{
		name: "failures", label: "Dead jobs by report", path: "/dead", prefix: "reports.",
		key: func(f failures) string { return f.Report },
		columns: []column[failures]{
			{
				key: "report", title: "Report", class: "name", order: by(func(f failures) string { return f.Report }),
				cell: func(f failures) cell {
					return cell{Text: f.Report, To: "/dead?" + v.address(f.Report, "").Encode()}
				},
			},
			{
				key: "noon", title: "Failed " + v.SinceNoon, class: "number",
				order: by(func(f failures) int { return f.Noon }),
				cell: func(f failures) cell {
					one := dead{Since: "noon"}
					return cell{Text: number(f.Noon), To: "/dead?" + one.address(f.Report, "").Encode()}
				},
			},
			{
				key: "jobs", title: "Failed in all", class: "number",
				order: by(func(f failures) int { return f.Jobs }),
				cell:  text(func(f failures) string { return number(f.Jobs) }),
			},
		},
	}
	may := func(name string) bool { return who.Can(report.Operate, name, "", "") }
	if !slices.ContainsFunc(v.Reports, may) {
		return all
	}
	all.columns = append(all.columns, column[failures]{key: "retry", title: "Retry", cell: func(f failures) (c cell) {
		if !may(f.Report) {
			return c
		}
		to := "/reports/" + f.Report + "/retry"
		if f.Noon > 0 {
			c.Acts = append(c.Acts, act{
				Label: "Retry " + number(f.Noon) + " " + v.SinceNoon, Of: "of " + f.Report, To: to,
				Fields: []field{{"since", v.Noon}},
			})
		}
		c.Acts = append(c.Acts, act{Label: "Retry all " + number(f.Jobs), Of: "of " + f.Report, To: to})
		return c
	}})
	return all
}

// retryReport runs the dead jobs of a report again, all of them or those that failed since a time.
func (d *deadPages) retryReport(ctx context.Context, r *http.Request) (outcome, error) {
	name := r.PathValue("name")
	if !access.Of(ctx).Can(report.Operate, name, "", "") {
		return outcome{}, errForbidden
	}
	span, err := spanOf(r, time.Now())
	if err != nil {
		return outcome{}, err
	}
	one := sweep{What: "Run again", Past: ranAgain, Group: name, Report: name}
	if !span.Since.IsZero() {
		one.Group += ", failed since " + words.Stamp(span.Since)
	}
	return d.start(ctx, one, func(j inspect.DeadJob) bool { return j.Report == name && span.Has(j.When) },
		d.o.Operate.Dead.Retry)
}
