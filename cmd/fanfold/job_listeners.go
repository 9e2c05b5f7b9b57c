package main

import (
	"cmp"
	"slices"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// listenerViews lists the listeners of a job: those of its report in their
// order; those that have a task, where the report is not in the configuration.
func listenerViews(r *report.Report, state *scripts.State) []listenerView {
	var views []listenerView
	if r != nil && r.Hash() == state.Definition {
		for stage, s := range r.Stages {
			for _, l := range s.Listeners {
				views = append(views, listenerView{Name: l.Name, Stage: int64(stage) + 1})
			}
		}
	} else {
		for name, task := range state.Tasks {
			views = append(views, listenerView{Name: name, Stage: task.Stage})
		}
		slices.SortFunc(views, func(a, b listenerView) int {
			return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Name, b.Name))
		})
	}
	for i := range views {
		task := state.Tasks[views[i].Name]
		views[i].State, views[i].Rows, views[i].Tries, views[i].Owner = "waiting", task.Rows, task.Tries, task.Owner
		if !task.Done && !task.Next.IsZero() {
			views[i].Next, views[i].Why = &task.Next, cmp.Or(task.Waits, task.Error)
			views[i].Waits = task.Waits != ""
		}
		switch {
		case task.Policy != "":
			views[i].State = "omitted"
		case task.Done:
			views[i].State = "done"
		case state.Status != scripts.StatusRun:
			views[i].State = "stopped"
		case task.Owner != "":
			views[i].State = "running"
		}
	}
	return views
}
