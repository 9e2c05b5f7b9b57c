package op

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// remembering is a state that remembers the values of the second cell, and adds up the third one of the first rows.
type remembering struct {
	seen     map[string]bool
	order    []string
	size, of int
	most     *int
}

func (r *remembering) Add(row Row, later func(part int, value []byte) error) error {
	value := string(row[1])
	switch {
	case r.seen[value]:
		return nil
	case later != nil:
		return later(3, row[1])
	}
	r.seen[value] = true
	r.size += len(value) + 32
	*r.most = max(*r.most, r.size)
	r.order = append(r.order, value)
	return nil
}

func (r *remembering) AddLater(part int, row Row) error {
	if part != 3 {
		return fmt.Errorf("part %d", part)
	}
	r.order = append(r.order, string(row[1]))
	return nil
}

func (r *remembering) Row() (Row, error) { return Row{fmt.Appendf(nil, "%v", r.order)}, nil }
func (r *remembering) Size() int         { return r.size }

// TestGroupIsBounded: a group that remembers more than the budget passes on what it does not know yet, in order.
func TestGroupIsBounded(t *testing.T) {
	t.Parallel()
	run := func(budget int64, groups int) (rows []string, most int) {
		m := NewMemory(t.Context(), budget, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		defer m.Close()
		to := rowsTo(func(row Row) error { rows = append(rows, string(row[0])); return nil })
		state := func(Row) State { return &remembering{seen: map[string]bool{}, most: &most} }
		g := NewGroup(m, to, func(dst []byte, row Row) ([]byte, error) { return append(dst, row[0]...), nil }, state)
		if groups == 0 {
			g = NewOne(m, to, state(nil))
		}
		for i := range 20_000 {
			if err := g.Add(Row{fmt.Append(nil, i%max(1, groups)), fmt.Append(nil, i*7919%9001)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.End(); err != nil {
			t.Fatal(err)
		}
		if budget > 0 && m.left.Load() != budget {
			t.Errorf("%d of %d bytes are left", m.left.Load(), budget)
		}
		return rows, most
	}
	for _, groups := range []int{0, 1, 3, 5000} {
		want, _ := run(0, groups)
		got, most := run(50_000, groups)
		if !slices.Equal(got, want) || len(got) != max(1, groups) || most > 55_000 {
			t.Errorf("%d groups: %d rows, want %d; %d bytes in a group", groups, len(got), len(want), most)
		}
	}
}

// TestGroupsKeepTheirOrder: once a group exceeds the budget, no smaller one takes its place in memory: groups are in the
// order of their first rows, and each of them is one row.
func TestGroupsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	run := func(budget int64) (rows []string) {
		m := NewMemory(t.Context(), budget, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		defer m.Close()
		to := rowsTo(func(row Row) error { rows = append(rows, string(row[0])); return nil })
		most := 0
		g := NewGroup(m, to, func(dst []byte, row Row) ([]byte, error) { return append(dst, row[0]...), nil },
			func(first Row) State {
				return &remembering{seen: map[string]bool{}, most: &most, order: []string{string(first[0])}}
			})
		for i := range 3000 {
			n := i * 7919 % 400
			key := fmt.Appendf(nil, "%d%s", n, strings.Repeat("x", n%7*300))
			if err := g.Add(Row{key, fmt.Append(nil, i%3)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.End(); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	want := run(0)
	for _, budget := range []int64{20_000, 50_000, 100_000} {
		if got := run(budget); !slices.Equal(got, want) || len(got) != 400 {
			t.Errorf("with %d bytes: %d groups, want %d in their order", budget, len(got), len(want))
		}
	}
}
