package op

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Grouping says how rows are grouped.
type Grouping struct {
	// Key returns, for one more goroutine, what computes the key of a row, valid until its next call. Nil: all rows are
	// one group, even none.
	Key func() func(row Row) (Key, error)
	// States returns the states of some of the groups, for one more goroutine.
	States  func() States
	Columns []int // of a row, that the states use
}

// States are what is known of the rows of some groups. They are used by one goroutine at a time.
//
// A state is some bytes, all zero before the first row. What does not fit is held beside it.
type States interface {
	// Bytes returns the size of a state.
	Bytes() int
	// Begin appends what is kept of the first row of a group, which is nil if there is none.
	Begin(dst []byte, first Row) ([]byte, error)
	// Add adds a row of the group, and returns how many bytes more are held beside the state, about. If later is not
	// nil, it must not remember further values: it passes those that it does not know to later, by the number of what
	// remembers them.
	Add(state []byte, row Row, later func(part int, value []byte) error) (held int, err error)
	// AddLater adds a row that Add has passed to later. It is called once for every value, in the order of the rows.
	AddLater(state []byte, part int, row Row) error
	// Rows returns, for one more goroutine, what makes the row of a group of what Begin has appended and its state. The
	// row is valid until the next call. It is called once for every group.
	Rows() func(first, state []byte) (Row, error)
}

// Group makes a row of all rows that have the same key, in the order of the first row of each key.
//
// Several goroutines share the work: lanes compute the keys of some rows, and pass the rows of each key to the shard
// that has its group. As every shard takes them in the order of the rows, what it knows of a group does not depend on
// the number of lanes and shards.
type Group struct {
	Grouping
	m       *Memory
	to      Output
	direct  *groupLane // of the rows that Add takes; nil: not yet
	shards  []*shard
	one     bool  // all rows are one group
	number  int64 // of rows so far
	lanes   int
	begun   bool // the shards are running
	running sync.WaitGroup
	failed  atomic.Bool // a shard has failed
	buffers chan []byte // for further rows
}

// NewGroup returns a Group.
func NewGroup(m *Memory, to Output, by Grouping) *Group {
	g := &Group{Grouping: by, m: m, to: to, one: by.Key == nil}
	if g.one {
		g.Key = func() func(row Row) (Key, error) {
			return func(Row) (Key, error) { return Key{}, nil }
		}
	}
	g.shards = []*shard{g.newShard(0, 0)}
	return g
}

// maxShards limits the memory of the rows on their way. It is a power of two, as the number of shards is.
const maxShards = 4

// divide makes as many shards as there are processors, if there is no group yet.
func (g *Group) divide() {
	g.buffers = make(chan []byte, maxShards*(queued+maxWorkers))
	if g.number > 0 || g.one {
		return
	}
	for 2*len(g.shards) <= min(runtime.GOMAXPROCS(0), maxShards) {
		for range len(g.shards) {
			g.shards = append(g.shards, g.newShard(len(g.shards), 0))
		}
	}
}

// Add implements Output.
func (g *Group) Add(row Row) error {
	if g.direct == nil {
		g.direct = g.lane()
	}
	return g.direct.Add(row)
}

// add adds a row with its key. No other goroutine adds rows.
func (g *Group) add(k Key, row Row) error {
	if g.begun {
		if err := g.drain(); err != nil {
			return err
		}
	}
	g.number++
	hash := k.hash()
	return g.shards[hash%uint64(len(g.shards))].add(k, hash, g.number, row)
}

// Fork implements Forker. The second lane is one of many.
func (g *Group) Fork() Lane {
	if g.lanes++; g.lanes == 2 {
		g.divide()
	}
	return g.lane()
}

func (g *Group) lane() *groupLane { return &groupLane{g: g, key: g.Key()} }

// queued is the number of blocks of rows that wait for a shard.
const queued = 2

// pass passes rows, by shard, to the shards, after all that were passed before. It returns buffers for further ones.
func (g *Group) pass(rows [][]byte, count int64) error {
	if g.failed.Load() {
		return g.drain()
	}
	if !g.begun {
		g.begun = true
		g.m.atEnd(func() { _ = g.drain() })
		for _, s := range g.shards {
			s.blocks = make(chan rowBlock, queued)
			g.running.Go(s.run)
		}
	}
	for i, s := range g.shards {
		if len(rows[i]) > 0 {
			s.blocks <- rowBlock{g.number + 1, rows[i]}
			rows[i] = g.buffer()
		}
	}
	g.number += count
	return nil
}

// recycle keeps a buffer for further rows.
func (g *Group) recycle(b []byte) {
	select {
	case g.buffers <- b:
	default:
	}
}

// buffer returns an empty buffer.
func (g *Group) buffer() []byte {
	select {
	case b := <-g.buffers:
		return b[:0]
	default:
		return nil
	}
}

// drain waits for the shards, and returns the error of the first row that has one.
func (g *Group) drain() error {
	if g.begun {
		for _, s := range g.shards {
			close(s.blocks)
		}
		g.running.Wait()
		g.begun = false
	}
	first := slices.MinFunc(g.shards, func(a, b *shard) int { return cmp.Compare(a.failedAt, b.failedAt) })
	return first.err
}

// End implements Output.
func (g *Group) End() error {
	err := g.drain()
	if err == nil && g.one && g.number == 0 {
		g.shards[0].depth = maxDepth // whatever the budget
		_, err = g.shards[0].begin(Key{}, Key{}.hash(), 0, nil)
	}
	if err == nil {
		err = g.finish()
	}
	if err != nil && err != ErrEnough {
		return err
	}
	return g.to.End()
}

// finish passes the groups on. Those in memory go first, up to the first one that is not there; the others are sorted.
func (g *Group) finish() error {
	limit := int64(math.MaxInt64)
	for _, s := range g.shards {
		if err := s.finish(); err != nil {
			return err
		}
		limit = min(limit, s.divided)
		defer s.free()
	}
	ended := &ending{sorter: sorter{m: g.m}}
	defer ended.free()
	if err := passAll(g.to, g.rows, func(f func(r record) error) error {
		return g.eachInMemory(func(s *shard, r record) error {
			if r.number() < limit {
				return f(r)
			}
			return ended.add(s, r)
		})
	}); err != nil || limit == math.MaxInt64 {
		return err
	}
	for _, s := range g.shards {
		s.free()
	}
	for _, s := range g.shards {
		if err := s.endParts(ended.add); err != nil {
			return err
		}
	}
	return passAll(g.to, ended.rows, ended.each)
}

// rows returns what makes rows of the records of groups.
func (g *Group) rows() func(r record) (Row, error) {
	rows := make([]func(first, state []byte) (Row, error), len(g.shards))
	for i, s := range g.shards {
		rows[i] = s.states.Rows()
	}
	return func(r record) (Row, error) { return rows[r.link()](g.shards[r.link()].of(r)) }
}

// eachInMemory calls f with the records of the groups in memory, in the order of their first rows.
func (g *Group) eachInMemory(f func(s *shard, r record) error) error {
	readers := make([]arenaReader, len(g.shards))
	for i, s := range g.shards {
		readers[i].arena = &s.groups.arena
		readers[i].next()
	}
	for {
		first := -1
		for i := range readers {
			if readers[i].now != nil && (first < 0 || readers[i].now.number() < readers[first].now.number()) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		if err := f(g.shards[first], readers[first].now); err != nil {
			return err
		}
		readers[first].next()
	}
}
