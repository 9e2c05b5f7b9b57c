package recovery

// setCopy is what MySQL has of a set, in memory, with the walk over the set in
// Redis that compares the two. A walk may take several passes.
type setCopy struct {
	set     string
	members map[string]copied
	cursor  uint64 // of the walk; 0: it begins
	turn    uint64 // number of the walk
}

type copied struct {
	at   int64
	turn uint64 // in which it was seen last
}

func newSetCopy(set string) *setCopy {
	return &setCopy{set: set, members: map[string]copied{}, turn: 1}
}

// load adds what MySQL has.
func (c *setCopy) load(dues []Due) {
	for _, d := range dues {
		c.members[d.Member] = copied{at: d.At}
	}
}

// compare notes that members were seen, and returns those that MySQL has not, or
// with another time; each once.
func (c *setCopy) compare(dues []Due) (differ []Due) {
	fresh := map[string]int{}
	for _, d := range dues {
		have, ok := c.members[d.Member]
		if ok && have.at == d.At {
			c.members[d.Member] = copied{d.At, c.turn}
			continue
		}
		if i, twice := fresh[d.Member]; twice {
			differ[i] = d
			continue
		}
		fresh[d.Member] = len(differ)
		differ = append(differ, d)
		if ok {
			c.members[d.Member] = copied{have.at, c.turn}
		}
	}
	return differ
}

// missing are the members that the walk, which has come to its end, has not
// seen.
func (c *setCopy) missing() (members []string) {
	for member, have := range c.members {
		if have.turn != c.turn {
			members = append(members, member)
		}
	}
	return members
}

// apply notes what MySQL has now.
func (c *setCopy) apply(put []Due, gone []string) {
	for _, d := range put {
		c.members[d.Member] = copied{d.At, c.turn}
	}
	for _, member := range gone {
		delete(c.members, member)
	}
}

// walked begins the next walk.
func (c *setCopy) walked() { c.cursor, c.turn = 0, c.turn+1 }
