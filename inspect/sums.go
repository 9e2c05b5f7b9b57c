package inspect

import (
	"slices"
)

// Sums are the figures of all partitions together, by their name and their listener or report,
// which may be empty.
type Sums map[[2]string]float64

// Of returns the figure of a listener or a report, or of neither. It is 0 if the figure is unknown.
func (s Sums) Of(name, of string) float64 { return s[[2]string{name, of}] }

// Known reports whether the figure was read.
func (s Sums) Known(name, of string) bool {
	_, ok := s[[2]string{name, of}]
	return ok
}

// Renew returns the figures that were read now, and of those that were not read, the last ones.
func Renew(last, now []Figure) []Figure {
	type key struct{ name, of, part string }
	read := map[key]bool{}
	for _, f := range now {
		read[key{f.Name, f.Of, f.Part}] = true
	}
	all := slices.Clone(now)
	for _, f := range last {
		if !read[key{f.Name, f.Of, f.Part}] {
			all = append(all, f)
		}
	}
	return all
}

// Sum adds the figures of all partitions. Of ages and delays it takes the maximum. Of workers it
// takes the minimum: a process works for every partition, and a partition without workers stands still.
func Sum(found []Figure) Sums {
	all := Sums{}
	for _, f := range found {
		key := [2]string{f.Name, f.Of}
		was, known := all[key]
		switch {
		case f.Name == "tasks_workers" && known:
			all[key] = min(was, f.Value)
		case f.TakesMax():
			all[key] = max(was, f.Value)
		default:
			all[key] = was + f.Value
		}
	}
	return all
}
