package dashboard

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/web/form"
)

// definition is a report on the page of reports.
type definition struct {
	*report.Report
	Name    string
	Plan    *picture // nil: none
	Pause   string   // since when it is paused, by whom, until when and why; empty: it is not
	Running int
	Max     int    // jobs that may run; 0: any number
	Limit   string // as Pause, of the limit that people have set
	Sent    form.Sent
}

// reports is the content of the page of reports.
type reports struct {
	Table   table
	Reports []definition
}

func (l listPages) reports(_ context.Context, r *http.Request, s *sample) (string, any, error) {
	return "Reports", l.definitions(r, s, &wrongForm{}), nil
}

// reportTable is the table of reports.
var reportTable = listing[definition]{
	name: "reports", label: "Reports", path: "/reports", key: nameOfReport, columns: []column[definition]{
		{
			key: "name", title: "Report", class: "name", order: by(nameOfReport),
			cell: func(d definition) cell {
				return cell{Text: d.Name, To: "/reports#r-" + d.Name, Chips: pausedChip(d.Pause != ""), Soft: d.Pause}
			},
		},
		{
			key: "running", title: "Running jobs", class: "number",
			order: by(func(d definition) int { return d.Running }),
			cell: func(d definition) cell {
				if d.Max == 0 {
					return cell{Text: count(d.Running)}
				}
				return cell{Text: fmt.Sprintf("%d of %d", d.Running, d.Max), Soft: d.Limit}
			},
		},
		{
			key: "deadline", title: "Deadline after", class: "number",
			order: by(func(d definition) time.Duration { return time.Duration(d.Timeout) }),
			cell:  text(func(d definition) string { return fmt.Sprint(d.Timeout) }),
		},
		counted("stages", "Stages", func(d definition) int { return len(d.Stages) }),
		{key: "parameters", title: "Parameters", cell: func(d definition) cell {
			var names []string
			for _, p := range d.Parameters {
				names = append(names, p.Name)
			}
			return cell{Text: strings.Join(names, ", "), Code: true}
		}},
		{key: "change", title: "Change", operator: true, cell: func(d definition) cell {
			return cell{Acts: holds("report", d.Name, d.Pause != "", d.Limit != "")}
		}},
	},
}

func nameOfReport(d definition) string { return d.Name }

// definitions returns all reports, one of them with a form that was sent.
func (l listPages) definitions(r *http.Request, s *sample, wrong *wrongForm) reports {
	running := map[string]int{}
	for _, j := range s.Jobs {
		if access.Of(r.Context()).Can(report.See, j.Report, "", "") {
			running[j.Report]++
		}
	}
	var all []definition
	who := access.Of(r.Context())
	for _, name := range slices.Sorted(maps.Keys(l.o.Inspect.Config.Reports)) {
		if !who.May(report.See, name) && !who.May(report.Order, name) {
			continue
		}
		one := definition{
			Report: l.o.Inspect.Config.Reports[name], Name: name, Running: running[name], Plan: l.plans[name],
			Pause: l.pauseText(s, scripts.PausedReport(name)),
		}
		one.Max, one.Limit = limit(l.o, s, scripts.PausedReport(name), one.Report.Running)
		if name == wrong.report {
			one.Sent = wrong.sent
		}
		all = append(all, one)
	}
	return reports{reportTable.of(r, slices.Clone(all)), all}
}
