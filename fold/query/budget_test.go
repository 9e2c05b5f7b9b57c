package query_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"
)

// large are tables whose rows exceed a small budget, with keys that repeat and NULLs.
var large = []string{
	`CREATE TABLE a (id INT PRIMARY KEY, k INT, g INT, v VARCHAR(40) COLLATE utf8mb4_nopad_bin, x DECIMAL(12,2), KEY (k))`,
	`INSERT INTO a SELECT seq, IF(seq % 97 = 0, NULL, seq * 7919 % 9000), seq * 31 % 7000, CONCAT('row ', seq * 65537 % 30011), seq % 1000 / 100 FROM seq_1_to_30000`,
	`CREATE TABLE b (id INT PRIMARY KEY, k INT, w VARCHAR(40) COLLATE utf8mb4_nopad_bin, y DOUBLE, KEY (k))`,
	`INSERT INTO b SELECT seq, IF(seq % 89 = 0, NULL, seq * 104729 % 12000), CONCAT('other ', seq), seq / 7e0 FROM seq_1_to_20000`,
}

// TestBudgets: the rows are those of MariaDB with a budget that a tenth of them exceeds, and in the same order as
// without a limit.
func TestBudgets(t *testing.T) {
	t.Parallel()
	b := newBench(t, large...)
	b.load("a", "b")
	for _, query := range []string{
		"SELECT a.id, b.id AS other, a.v, b.w, b.y FROM a JOIN b ON b.k = a.k ORDER BY a.id, b.id",
		"SELECT a.id, b.id AS other, a.v, b.w FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.id, b.id",
		"SELECT a.id, b.id AS other, a.v, b.w FROM a RIGHT JOIN b ON b.k = a.k ORDER BY b.id, a.id",
		"SELECT a.id, b.id AS other FROM a LEFT JOIN b ON b.k = a.k AND b.id > a.id ORDER BY a.id, b.id",
		"SELECT g, COUNT(*) AS n, SUM(x) AS s, MAX(v) AS m, GROUP_CONCAT(id ORDER BY id) AS ids FROM a GROUP BY g ORDER BY g",
		"SELECT v, COUNT(DISTINCT k) AS n, AVG(x) AS av FROM a GROUP BY v ORDER BY v",
		"SELECT id, v, x FROM a ORDER BY x DESC, v, id", "SELECT DISTINCT v FROM a ORDER BY v",
		"SELECT v FROM a UNION SELECT w FROM b ORDER BY v", "SELECT id, v FROM a ORDER BY v LIMIT 20 OFFSET 5000",
		"SELECT n, COUNT(*) AS c FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) x GROUP BY n ORDER BY n",
	} {
		if diff := b.compare(query, 600<<10); diff != "" {
			t.Error(diff)
		}
	}
	// Without ORDER BY, the order is that of the first table, of the groups' first rows, and of both sides of a join.
	for _, query := range []string{
		"SELECT a.id, b.id AS other, b.w FROM a JOIN b ON b.k = a.k", "SELECT a.id, b.id AS other FROM a FULL JOIN b ON b.k = a.k",
		"SELECT a.id, b.id AS other FROM a RIGHT JOIN b ON b.k = a.k AND a.x > 5", "SELECT v, COUNT(*) AS n, SUM(x) AS s FROM a GROUP BY v",
		"SELECT DISTINCT g FROM a", "SELECT v FROM a UNION SELECT w FROM b", "SELECT id FROM a ORDER BY g",
	} {
		_, want, err := b.run(query, 0)
		if err != nil || len(want) < 1000 {
			t.Fatal(query, len(want), err)
		}
		for _, budget := range []int64{600 << 10, 2 << 20} {
			if _, got, err := b.run(query, budget); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s with %d bytes: %d rows, want %d, %v", query, budget, len(got), len(want), err)
			}
		}
	}
}

// TestSpills: a query beyond the budget uses the scratch file, and one within it does not.
func TestSpills(t *testing.T) {
	t.Parallel()
	b := newBench(t, large...)
	b.load("a")
	q, err := parse.Parse("SELECT id, v FROM a ORDER BY v")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := queries.New(q, b.sets, nil)
	if err != nil {
		t.Fatal(err)
	}
	for budget, spills := range map[int64]bool{0: false, 512 << 10: true} {
		created := 0
		m := op.NewMemory(t.Context(), budget, func() (op.Scratch, error) {
			created++
			return os.CreateTemp(t.TempDir(), "")
		})
		if _, err := plan.Run(m, &collector{}); err != nil || (m.Spills() > 0) != spills || (created == 1) != spills {
			t.Errorf("%d bytes: %d runs, %d files, %v", budget, m.Spills(), created, err)
		}
		m.Close()
	}
}

// TestManyDistinctAggregates: more than 256 of them, beyond the budget.
func TestManyDistinctAggregates(t *testing.T) {
	t.Parallel()
	sets := map[string]queries.Dataset{"a": numbers(3000)}
	var items []string
	for i := range 300 {
		items = append(items, fmt.Sprintf("COUNT(DISTINCT id + %d) AS c%d", i, i))
	}
	items[10] = "COUNT(DISTINCT k MOD 7) AS c10"
	plan := planOf(t, "SELECT "+strings.Join(items, ", ")+" FROM a", sets)
	run := func(budget int64) []string {
		m := op.NewMemory(t.Context(), budget, func() (op.Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		defer m.Close()
		c := &collector{}
		if _, err := plan.Run(m, c); err != nil {
			t.Fatal(err)
		}
		return c.rows
	}
	want, got := run(0), run(1<<20)
	if !slices.Equal(want, got) {
		w, g := strings.Split(want[0], " | "), strings.Split(got[0], " | ")
		for i := range w {
			if w[i] != g[i] {
				t.Errorf("aggregate %d is %s with a budget, want %s", i, g[i], w[i])
			}
		}
	}
}
