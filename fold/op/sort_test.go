package op

import (
	"os"
	"testing"
)

// TestSorterGivesWhatItTook: rows that exceed the budget alone do not enlarge it.
func TestSorterGivesWhatItTook(t *testing.T) {
	t.Parallel()
	m := NewMemory(t.Context(), 1, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
	defer m.Close()
	s, n := &sorter{m: m}, 0
	for range 5 {
		if err := s.add([]byte("k"), func(dst []byte) []byte { return append(dst, make([]byte, 2*minBytes)...) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.each(func(record) error { n++; return nil }); err != nil || n != 5 || m.left.Load() != 1 {
		t.Errorf("%d records, %d bytes left, %v", n, m.left.Load(), err)
	}
}
