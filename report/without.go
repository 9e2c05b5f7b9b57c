package report

import "slices"

// Without returns the report for a job that goes on without these listeners: they
// are no part of the join, whatever their type in it, and in every row their columns
// in the file are empty, or have their defaults. The first listener of the join is
// never one of them.
func (r *Report) Without(omitted []string) *Report {
	if len(omitted) == 0 {
		return r
	}
	rest := *r
	rest.Join.Listeners = slices.DeleteFunc(slices.Clone(r.Join.Listeners), func(j Joined) bool { return slices.Contains(omitted, j.Listener) })
	rest.CSV.Columns, rest.CSV.Fixed = slices.Clone(r.CSV.Columns), map[int]string{}
	for i, c := range rest.CSV.Columns {
		if c.Listener == "" || !slices.Contains(omitted, c.Listener) {
			continue
		}
		text := "null"
		if l, _, ok := r.Listener(c.Listener); ok && l.Defaults[c.Column] != "" {
			text = l.Defaults[c.Column]
		}
		rest.CSV.Columns[i], rest.CSV.Fixed[i] = CSVColumn{Label: c.Label}, text
	}
	return &rest
}
