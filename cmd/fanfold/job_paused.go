package main

import "github.com/fanfold/fanfold/scripts"

// pausedFor is what of the pauses a record waits for: its report before the start, after
// that listeners that are not done. State is nil where it has none.
func pausedFor(found scripts.Pauses, report string, state *scripts.State) []string {
	if state == nil || !runs(state) {
		if _, ok := found[scripts.PausedReport(report)]; ok {
			return []string{scripts.PausedReport(report)}
		}
		return nil
	}
	var waits []string
	for _, l := range state.Listeners {
		task := state.Tasks[l]
		if _, ok := found[scripts.PausedListener(l)]; ok && state.Status == scripts.StatusRun && !task.Done && task.Owner == "" {
			waits = append(waits, scripts.PausedListener(l))
		}
	}
	return waits
}
