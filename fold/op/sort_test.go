package op

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSorterGivesWhatItTook: rows that exceed the budget alone do not enlarge it.
func TestSorterGivesWhatItTook(t *testing.T) {
	t.Parallel()
	m := NewMemory(t.Context(), 1, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
	defer m.Close()
	s, n := &sorter{m: m}, 0
	for range 5 {
		r, err := beginSorted(nil, func(dst []byte) ([]byte, error) { return append(dst, 'k'), nil })
		if err == nil {
			r, err = endRecord(append(r, make([]byte, 2*minBytes)...))
		}
		if err == nil {
			err = s.add(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.each(func(record) error { n++; return nil }); err != nil || n != 5 || m.left.Load() != 1 {
		t.Errorf("%d records, %d bytes left, %v", n, m.left.Load(), err)
	}
}

// TestSorterReusesMemory: the records of a run are written where those of the one before were.
func TestSorterReusesMemory(t *testing.T) {
	t.Parallel()
	const budget = 1 << 20
	m := NewMemory(t.Context(), budget, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
	defer m.Close()
	s, buffer, rows := &sorter{m: m}, record(nil), 0
	for i := range 50_000 {
		r, err := beginSorted(buffer[:0], func(dst []byte) ([]byte, error) {
			return fmt.Appendf(dst, "%d", i*7919%50_000), nil
		})
		if err == nil {
			buffer, err = endRecord(append(r, make([]byte, 100)...))
		}
		if err == nil {
			err = s.add(buffer)
		}
		if err != nil || s.arena.bytes > budget {
			t.Fatalf("%d bytes are in memory, with a budget of %d: %v", s.arena.bytes, budget, err)
		}
	}
	if err := s.each(func(record) error { rows++; return nil }); err != nil || rows != 50_000 || m.Spills() == 0 {
		t.Errorf("%d rows, %d spills, %v", rows, m.Spills(), err)
	}
	if m.left.Load() != m.operators() {
		t.Errorf("%d bytes are left", m.left.Load())
	}
}

// sortRows sorts rows with a budget, and returns the numbers of the sorted ones.
func sortRows(t *testing.T, m *Memory, limit, rows, size int) (numbers []string) {
	t.Helper()
	s := NewSort(m, rowsTo(func(row Row) error { numbers = append(numbers, string(row[0])); return nil }), limit,
		func() func(dst []byte, row Row) ([]byte, error) {
			return func(dst []byte, row Row) ([]byte, error) { return append(dst, row[1]...), nil }
		})
	text := []byte(strings.Repeat("x", size))
	for i := range rows {
		if err := s.Add(Row{fmt.Append(nil, i), fmt.Appendf(nil, "same begin %04d", i*7919%rows/3), text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	return numbers
}

// TestSortWritesRowsFewTimes: beyond the budget, a row is written once for each level of runs, and the scratch file
// does not grow with the levels.
func TestSortWritesRowsFewTimes(t *testing.T) {
	t.Parallel()
	const rows, size = 20_000, 1000
	want := sortRows(t, NewMemory(t.Context(), 0, nil), 0, rows, size)
	var written int64
	m := NewMemory(t.Context(), 100_000, func() (Scratch, error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		return &counted{f, &written}, err
	})
	defer m.Close()
	if got := sortRows(t, m, 0, rows, size); !slices.Equal(got, want) {
		t.Error("other rows with a small budget")
	}
	if limit := int64(rows * size * 22 / 10); written > limit || m.end > limit*6/10 || m.left.Load() != m.operators() {
		t.Errorf("%d bytes were written, the file has %d; %d are left", written, m.end, m.left.Load())
	}
}

type counted struct {
	Scratch
	written *int64
}

func (c *counted) WriteAt(p []byte, at int64) (int, error) {
	*c.written += int64(len(p))
	return c.Scratch.WriteAt(p, at)
}

// TestTopRows: a sort of which only the first rows are needed has those alone in memory.
func TestTopRows(t *testing.T) {
	t.Parallel()
	const rows, size = 5000, 100
	all := sortRows(t, NewMemory(t.Context(), 0, nil), 0, rows, size)
	for limit, spills := range map[int]bool{1: false, 100: false, 1000: true, 4999: true, 5000: true, 9000: true} {
		m := NewMemory(t.Context(), 100_000, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		got := sortRows(t, m, limit, rows, size)
		if !slices.Equal(got, all[:min(limit, rows)]) || (m.Spills() > 0) != spills || m.left.Load() != m.operators() {
			t.Errorf("limit %d: %d rows, %d spills, %d bytes are left", limit, len(got), m.Spills(), m.left.Load())
		}
		m.Close()
	}
}

// TestSortAfterALongRow: a sort that spills keeps its rows after one that is longer than a block.
func TestSortAfterALongRow(t *testing.T) {
	t.Parallel()
	m := NewMemory(t.Context(), 4<<20, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
	defer m.Close()
	got := map[string]int{}
	s := NewSort(m, rowsTo(func(row Row) error { got[string(row[0])]++; return nil }), 0,
		func() func(dst []byte, row Row) ([]byte, error) {
			return func(dst []byte, row Row) ([]byte, error) { return append(dst, row[0]...), nil }
		})
	n := 48_000
	for i := range n {
		size := 92 // a record of 128 bytes
		if i == 10_000 {
			size = 140 << 10
		}
		if err := s.Add(Row{fmt.Appendf(nil, "%07d", i*7919%n), []byte(strings.Repeat("x", size))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	twice := 0
	for _, c := range got {
		if c > 1 {
			twice++
		}
	}
	if len(got) != n || twice > 0 {
		t.Fatalf("%d different rows of %d, %d came more than once", len(got), n, twice)
	}
}
