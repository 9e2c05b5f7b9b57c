package query_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"
)

// countedSet counts the chunks that are read.
type countedSet struct {
	*memory
	calls atomic.Int64
}

func (c *countedSet) Chunk(n int64, columns []int) (*dataset.Chunk, error) {
	c.calls.Add(1)
	return c.memory.Chunk(n, columns)
}

// planOf returns the plan of a query over datasets.
func planOf(t testing.TB, query string, sets map[string]queries.Dataset) *queries.Plan {
	t.Helper()
	q, err := parse.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := queries.New(q, sets, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestLimitEndsReading: a LIMIT without ORDER BY reads no more chunks than it needs, and a few ahead.
func TestLimitEndsReading(t *testing.T) {
	t.Parallel()
	for query, limit := range map[string]int64{
		"SELECT id FROM a LIMIT 5":                                                       6,
		"SELECT id FROM a WHERE id >= 0 LIMIT 5":                                         16,
		"SELECT a.id, c.v FROM a JOIN c ON c.id = a.id LIMIT 5 OFFSET 2":                 16,
		"SELECT a.id, c.v FROM a LEFT JOIN c ON c.id = a.id AND c.k > a.k LIMIT 5":       16,
		"SELECT DISTINCT k FROM a LIMIT 5":                                               6,
		"SELECT id FROM c UNION ALL SELECT id FROM a LIMIT 5":                            0,
		"SELECT id FROM a UNION ALL SELECT id FROM a LIMIT 5":                            6,
		"SELECT id FROM a UNION SELECT id FROM a LIMIT 5":                                6,
		"SELECT x.id FROM (SELECT id, k FROM a) x JOIN c ON c.id = x.id LIMIT 5":         6,
		"SELECT id FROM (SELECT id FROM a LIMIT 100) x ORDER BY id LIMIT 5":              6,
		"SELECT c.id FROM c RIGHT JOIN (SELECT id FROM a LIMIT 1) x ON x.id = c.id":      6,
		"SELECT id FROM (SELECT id FROM a WHERE k > 0 UNION SELECT id FROM a) x LIMIT 2": 16,
	} {
		a, c := &countedSet{memory: numbers(400_000)}, numbers(10)
		if a.Chunks() < 40 {
			t.Fatal(a.Chunks())
		}
		m := op.NewMemory(t.Context(), 0, nil)
		if _, err := planOf(t, query, map[string]queries.Dataset{"a": a, "c": c}).Run(m, &counting{}); err != nil || a.calls.Load() > limit {
			t.Errorf("%s: %d chunks were read, want at most %d: %v", query, a.calls.Load(), limit, err)
		}
	}
}

// TestTopRowsSpillNothing: ORDER BY with a LIMIT has the first rows alone in memory.
func TestTopRowsSpillNothing(t *testing.T) {
	t.Parallel()
	sets := map[string]queries.Dataset{"a": numbers(100_000)}
	for query, spills := range map[string]bool{
		"SELECT id, v FROM a ORDER BY v LIMIT 10 OFFSET 5": false, "SELECT id, v FROM a ORDER BY v": true,
		"SELECT g, COUNT(*) AS n FROM a GROUP BY g ORDER BY n, g LIMIT 3": false,
		"SELECT id FROM a UNION ALL SELECT k FROM a ORDER BY id LIMIT 3":  false,
	} {
		m := op.NewMemory(t.Context(), 3<<20, func() (op.Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		if _, err := planOf(t, query, sets).Run(m, &counting{}); err != nil || (m.Spills() > 0) != spills {
			t.Errorf("%s: %d spills, %v", query, m.Spills(), err)
		}
		m.Close()
	}
}

// TestCancel: a query whose rows match many others ends with its context, although it has no rows.
func TestCancel(t *testing.T) {
	t.Parallel()
	gone := errors.New("cancelled")
	sets := map[string]queries.Dataset{"a": numbers(100_000), "b": numbers(100_000)}
	for _, query := range []string{
		"SELECT a.id FROM a JOIN b ON b.id DIV 100000 = a.id DIV 100000 AND a.x + b.x < 0",
		"SELECT a.id FROM a LEFT JOIN b ON b.id DIV 100000 = a.id DIV 100000 AND a.x + b.x < 0",
		"SELECT a.id FROM a FULL JOIN b ON b.id DIV 100000 = a.id DIV 100000 AND a.x + b.x < 0",
		"SELECT COUNT(*) AS n FROM a JOIN b ON b.id DIV 100000 = a.id DIV 100000",
	} {
		for _, budget := range []int64{0, 1 << 20} {
			ctx, cancel := context.WithCancelCause(t.Context())
			m := op.NewMemory(ctx, budget, func() (op.Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
			stop := time.AfterFunc(200*time.Millisecond, func() { cancel(gone) })
			begin := time.Now()
			if _, err := planOf(t, query, sets).Run(m, &counting{}); !errors.Is(err, gone) || time.Since(begin) > 20*time.Second {
				t.Errorf("%s with %d bytes: %v after %v", query, budget, err, time.Since(begin))
			}
			stop.Stop()
			m.Close()
		}
	}
}
