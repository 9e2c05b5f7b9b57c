package op

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// remembering are states that remember the second cell of every row, once each. A state is the number of a group.
type remembering struct {
	groups []remembered
	most   *atomic.Int64
}

type remembered struct {
	seen  map[string]bool
	order []string
	size  int
}

func (*remembering) Bytes() int { return 1 + 4 }

// Begin keeps the first cell.
func (r *remembering) Begin(dst []byte, first Row) ([]byte, error) {
	if first == nil {
		return dst, nil
	}
	return append(dst, first[0]...), nil
}

func (r *remembering) of(state []byte) *remembered {
	if state[0] == 0 {
		r.groups = append(r.groups, remembered{seen: map[string]bool{}})
		state[0] = 1
		binary.LittleEndian.PutUint32(state[1:], uint32(len(r.groups)-1))
	}
	return &r.groups[binary.LittleEndian.Uint32(state[1:])]
}

func (r *remembering) Add(state []byte, row Row, later func(part int, value []byte) error) (int, error) {
	of, value := r.of(state), string(row[1])
	switch {
	case value == "fails":
		return 0, fmt.Errorf("row %s fails", row[2])
	case of.seen[value]:
		return 0, nil
	case later != nil:
		return 0, later(3, row[1])
	}
	of.seen[value] = true
	of.size += len(value) + 32
	for most := r.most.Load(); int64(of.size) > most && !r.most.CompareAndSwap(most, int64(of.size)); {
		most = r.most.Load()
	}
	of.order = append(of.order, value)
	return len(value) + 32, nil
}

func (r *remembering) AddLater(state []byte, part int, row Row) error {
	if part != 3 {
		return fmt.Errorf("part %d", part)
	}
	of := r.of(state)
	of.order = append(of.order, string(row[1]))
	return nil
}

func (r *remembering) Rows() func(first, state []byte) (Row, error) {
	return func(first, state []byte) (Row, error) {
		if state[0] == 0 {
			return Row{[]byte("none")}, nil
		}
		return Row{fmt.Appendf(nil, "%s: %v", first, r.groups[binary.LittleEndian.Uint32(state[1:])].order)}, nil
	}
}

// byFirst groups rows by their first cell; one: all rows are one group.
func byFirst(one bool, most *atomic.Int64) Grouping {
	by := Grouping{
		Key: func() func(row Row) (Key, error) {
			return func(row Row) (Key, error) { return TextKey(row[0]), nil }
		},
		States:  func() States { return &remembering{most: most} },
		Columns: []int{0, 1, 2},
	}
	if one {
		by.Key = nil
	}
	return by
}

// foldGroups passes the rows of chunks to a Group, by lanes or one by one, and returns the rows of the groups.
func foldGroups(t *testing.T, m *Memory, by Grouping, lanes bool, chunks [][]Row) (rows []string, err error) {
	t.Helper()
	g := NewGroup(m, rowsTo(func(row Row) error { rows = append(rows, string(row[0])); return nil }), by)
	if !lanes {
		for _, chunk := range chunks {
			for _, row := range chunk {
				if err := g.Add(row); err != nil {
					return rows, err
				}
			}
		}
		return rows, g.End()
	}
	main := g.Fork()
	p := newPool(g.Fork)
	for _, chunk := range chunks {
		if !p.do(func(l Lane, turn func() error) error {
			l.Begin(turn)
			for _, row := range chunk {
				if err := l.Add(row); err != nil {
					return l.Flush(err)
				}
			}
			return l.Flush(nil)
		}) {
			break
		}
	}
	if err = p.wait(); err == nil {
		err = main.Flush(nil)
	}
	if err == nil {
		err = g.End()
	}
	return rows, err
}

// TestGroupIsBounded: a group that remembers more than the budget passes on what it does not know yet, in order.
func TestGroupIsBounded(t *testing.T) {
	t.Parallel()
	run := func(budget int64, groups int, lanes bool) (rows []string, most int64) {
		m := NewMemory(t.Context(), budget, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		defer m.Close()
		var chunks [][]Row
		for i := range 20_000 {
			if i%1000 == 0 {
				chunks = append(chunks, nil)
			}
			row := Row{fmt.Append(nil, i%max(1, groups)), fmt.Append(nil, i*7919%9001), fmt.Append(nil, i)}
			chunks[len(chunks)-1] = append(chunks[len(chunks)-1], row)
		}
		var remembered atomic.Int64
		rows, err := foldGroups(t, m, byFirst(groups == 0, &remembered), lanes, chunks)
		if err != nil {
			t.Fatal(err)
		}
		if budget > 0 && m.left.Load() != m.operators() {
			t.Errorf("%d of %d bytes are left", m.left.Load(), budget)
		}
		return rows, remembered.Load()
	}
	for _, groups := range []int{0, 1, 3, 5000} {
		want, _ := run(0, groups, false)
		for _, budget := range []int64{0, 50_000} {
			for _, lanes := range []bool{false, true} {
				got, most := run(budget, groups, lanes)
				if !slices.Equal(got, want) || len(got) != max(1, groups) || budget > 0 && most > 55_000 {
					t.Errorf("%d groups, budget %d, lanes %v: %d rows, want %d; %d bytes in a group", groups, budget, lanes,
						len(got), len(want), most)
				}
			}
		}
	}
}

// TestGroupsKeepTheirOrder: once a group exceeds the budget, no smaller one takes its place in memory: groups are in the
// order of their first rows, and each of them is one row.
func TestGroupsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	run := func(budget int64, lanes bool) (rows []string) {
		m := NewMemory(t.Context(), budget, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		defer m.Close()
		var chunks [][]Row
		for i := range 3000 {
			if i%100 == 0 {
				chunks = append(chunks, nil)
			}
			n := i * 7919 % 400
			row := Row{fmt.Appendf(nil, "%d%s", n, strings.Repeat("x", n%7*300)), fmt.Append(nil, i%3), nil}
			chunks[len(chunks)-1] = append(chunks[len(chunks)-1], row)
		}
		var most atomic.Int64
		rows, err := foldGroups(t, m, byFirst(false, &most), lanes, chunks)
		if err != nil || budget > 0 && m.left.Load() != m.operators() {
			t.Fatal(m.left.Load(), err)
		}
		return rows
	}
	want := run(0, false)
	for _, budget := range []int64{0, 20_000, 50_000, 100_000, 300_000} {
		for _, lanes := range []bool{false, true} {
			if got := run(budget, lanes); !slices.Equal(got, want) || len(got) != 400 {
				t.Errorf("with %d bytes, lanes %v: %d groups, want %d in their order", budget, lanes, len(got), len(want))
			}
		}
	}
}

// TestGroupsFailAtTheFirstRow: the error is that of the first row that has one, whichever shard finds it first.
func TestGroupsFailAtTheFirstRow(t *testing.T) {
	t.Parallel()
	for fails := 5000; fails < 5020; fails++ {
		var chunks [][]Row
		for i := range 10_000 {
			if i%50 == 0 {
				chunks = append(chunks, nil)
			}
			row := Row{fmt.Append(nil, i), []byte("x"), fmt.Append(nil, i)}
			if i == fails || i > fails && i%3 == 0 {
				row[1] = []byte("fails")
			}
			chunks[len(chunks)-1] = append(chunks[len(chunks)-1], row)
		}
		var most atomic.Int64
		by := byFirst(false, &most)
		if fails%2 == 0 { // the key of a later row fails, too
			by.Key = func() func(row Row) (Key, error) {
				return func(row Row) (Key, error) {
					if string(row[0]) == fmt.Sprint(fails+2) {
						return Key{}, fmt.Errorf("the key of row %s fails", row[0])
					}
					return TextKey(row[0]), nil
				}
			}
		}
		m := NewMemory(t.Context(), 0, nil)
		if _, err := foldGroups(t, m, by, true, chunks); err == nil || err.Error() != fmt.Sprintf("row %d fails", fails) {
			t.Fatalf("row %d fails, but the error is %v", fails, err)
		}
	}
}

// TestGroupGivesBackAfterEnough: a LIMIT behind groups that are not in memory gives their memory back.
func TestGroupGivesBackAfterEnough(t *testing.T) {
	t.Parallel()
	for _, budget := range []int64{30_000, 50_000, 70_000, 100_000, 150_000, 200_000, 400_000} {
		m := NewMemory(t.Context(), budget, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		to := NewProject(&Limit{To: rowsTo(func(row Row) error { return nil }), Count: 5}, 1, func() func(into, row Row) error {
			return func(into, row Row) error { into[0] = row[0]; return nil }
		})
		g := NewGroup(m, to, Grouping{
			Key:    func() func(row Row) (Key, error) { return func(row Row) (Key, error) { return TextKey(row[0]), nil } },
			States: func() States { return firstRows(1) }, Columns: []int{0},
		})
		main := g.Fork()
		p := newPool(g.Fork)
		for c := range 20 {
			p.do(func(l Lane, turn func() error) error {
				l.Begin(turn)
				for i := 1000 * c; i < 1000*(c+1); i++ {
					text := strings.Repeat("y", i%5*100)
					if err := l.Add(Row{fmt.Appendf(nil, "%07d%s", i*7919%10_000, text)}); err != nil {
						return l.Flush(err)
					}
				}
				return l.Flush(nil)
			})
		}
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
		if err := main.Flush(nil); err != nil {
			t.Fatal(err)
		}
		if err := g.End(); err != nil {
			t.Fatal(err)
		}
		if m.left.Load() != m.operators() {
			t.Errorf("budget %d: %d of %d bytes are left", budget, m.left.Load(), m.operators())
		}
		m.Close()
	}
}

// TestOneGroupOfNoRows: it is one row, whatever the budget.
func TestOneGroupOfNoRows(t *testing.T) {
	t.Parallel()
	for _, budget := range []int64{0, 1, 3000, 10_000, 20_000, 50_000, 1 << 20} {
		m := NewMemory(t.Context(), budget, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		var most atomic.Int64
		rows, err := foldGroups(t, m, byFirst(true, &most), false, nil)
		if err != nil || len(rows) != 1 {
			t.Errorf("budget %d: %q %v", budget, rows, err)
		}
		m.Close()
	}
}

type failingScratch struct {
	Scratch
	reads int
}

func (f *failingScratch) ReadAt(p []byte, at int64) (int, error) {
	if f.reads--; f.reads < 0 {
		return 0, errors.New("disk is broken")
	}
	return f.Scratch.ReadAt(p, at)
}

// TestShardsEndAfterAnErrorBeforeThem: if a Sort fails to read while the shards of a Group behind it run, they end.
func TestShardsEndAfterAnErrorBeforeThem(t *testing.T) { // alone: it counts goroutines
	m := NewMemory(t.Context(), 1<<20, func() (Scratch, error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		return &failingScratch{f, 30}, err
	})
	defer m.Close()
	g := NewGroup(m, rowsTo(func(row Row) error { return nil }), Grouping{
		Key: func() func(row Row) (Key, error) {
			return func(row Row) (Key, error) { return TextKey(row[0][:2]), nil }
		},
		States: func() States { return firstRows(1) }, Columns: []int{0},
	})
	s := NewSort(m, g, 0, func() func(dst []byte, row Row) ([]byte, error) {
		return func(dst []byte, row Row) ([]byte, error) { return append(dst, row[0]...), nil }
	})
	for i := range 100_000 {
		if err := s.Add(Row{fmt.Appendf(nil, "%07d%s", i*7919%100_000, strings.Repeat("y", 100))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(); err == nil {
		t.Fatal("a broken disk is no error")
	}
	m.Stop()
	_ = g.How() // races with shards that run
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if n := strings.Count(string(stacks), "op.(*shard).run("); n > 0 {
		t.Errorf("%d shards still run", n)
	}
}
