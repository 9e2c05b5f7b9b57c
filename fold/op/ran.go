package op

import (
	"math"
	"slices"
)

// How says how an operator ran.
type How string

// How an operator ran. Budget and data decide it, and the rows are the same.
const (
	InMemory How = "memory"
	Merged   How = "sorted"   // the rows of a side were merged with the first table, by their order
	Spilled  How = "spilled"  // rows went through the scratch file
	Parallel How = "parallel" // blocks of the first table were joined in parallel
)

// Joined says how a Join ran.
type Joined struct {
	Matches []Match // of every table after the first, if they are counted
	Tables  []Ran
}

// Ran says how a table was joined with those before it.
type Ran struct {
	Rows int64 // joined with it; -1: the Join ended before all were
	How  How   // empty for the first table unless it is Parallel
}

// ran returns how every table was joined. whole tells whether all rows were.
func (f *joining) ran(whole bool) []Ran {
	all := make([]Ran, len(f.sides))
	for n, s := range f.sides {
		switch {
		case n == 0 && f.parallel:
			all[n].How = Parallel
		case n == 0:
		case s.merged != nil:
			all[n].How = Merged
		case s.spilled:
			all[n].How = Spilled
		default:
			all[n].How = InMemory
		}
		if all[n].Rows = -1; whole {
			all[n].Rows = s.joined.Load()
		}
	}
	return all
}

// Count counts the rows that it passes on. It needs a call for every row, so it follows operators that work on all
// rows by themselves.
type Count struct {
	Output
	rows  int64
	lanes []*Count
}

// Add implements Output.
func (c *Count) Add(row Row) error {
	c.rows++
	return c.Output.Add(row)
}

// Rows returns the number of rows that it and its lanes have passed on. No goroutine may use them.
func (c *Count) Rows() int64 {
	rows := c.rows
	for _, lane := range c.lanes {
		rows += lane.rows
	}
	return rows
}

// Fork implements Forker.
func (c *Count) Fork() Lane {
	return forked(c.Output, func(to Output) Output {
		lane := &Count{Output: to}
		c.lanes = append(c.lanes, lane)
		return lane
	})
}

// How says how the rows were sorted.
func (s *Sort) How() How { return spilledIf(s.levels != nil) }

// How says how the groups were made.
func (g *Group) How() How {
	return spilledIf(slices.ContainsFunc(g.shards, func(s *shard) bool {
		return s.divided < math.MaxInt64 || s.later != nil && s.later.How() == Spilled
	}))
}

// How says how the keys were held.
func (d *Distinct) How() How { return spilledIf(d.further != nil && d.further.How() == Spilled) }

func spilledIf(spilled bool) How {
	if spilled {
		return Spilled
	}
	return InMemory
}
