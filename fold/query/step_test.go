package query_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/fold/op"
	queries "github.com/fanfold/fanfold/fold/query"
)

// stepsOf returns the steps that a query over two tables of 50,000 rows in several chunks has taken.
func stepsOf(t *testing.T, sets map[string]queries.Dataset, query string, budget int64, to op.Output, runs int) string {
	t.Helper()
	m := op.NewMemory(t.Context(), budget, func() (op.Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
	defer m.Close()
	plan := planOf(t, query, sets)
	for range runs {
		if _, err := plan.Run(m, to); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	var lines []string
	for _, s := range plan.Steps() {
		lines = append(lines, strings.Repeat("  ", s.Depth)+strings.TrimSpace(fmt.Sprintf("%s: %d %s", s.Text, s.Rows, s.How)))
	}
	return strings.Join(lines, "\n")
}

// TestSteps: a run counts the rows of every step, and says how it went.
func TestSteps(t *testing.T) {
	t.Parallel()
	sets := map[string]queries.Dataset{"a": numbers(50_000), "b": numbers(50_000), "s": numbers(1000)}
	for _, test := range []struct{ query, want string }{
		{"SELECT id FROM s", `
read s: 1000`},
		{"SELECT id FROM a WHERE id < 20000", `
read a, filtered by a.id < 20000: 20000 parallel`},
		{"SELECT id FROM a WHERE (id < 20000 OR v = 'x') AND NOT (id + 1) * 2 > 200", `
read a, filtered by (a.id < 20000 OR a.v = 'x') AND NOT (a.id + 1) * 2 > 200: 100 parallel`},
		{"SELECT a.id, s.v FROM a JOIN s ON s.k = a.id JOIN b ON b.id = s.id AND b.k < a.k WHERE a.id + b.id < 700 OR a.v = 'x'", `
read a: 50000 parallel
inner join s on s.k = a.id: 1000 memory
inner join b on b.id = s.id AND b.k < a.k: 499 memory
filter by a.id + b.id < 700 OR a.v = 'x': 121`},
		{"SELECT a.id FROM a LEFT JOIN s ON s.id = a.id RIGHT JOIN (SELECT id FROM b WHERE id > 49000 ORDER BY id DESC) r ON r.id = a.id + 500", `
  read b, filtered by b.id > 49000: 999 parallel
  sort by b.id DESC: 999 memory
read a: 50000
left join s on s.id = a.id: 50000 memory
right join r on r.id = a.id + 500: 999 memory`},
		{"SELECT g, COUNT(*) AS n FROM a GROUP BY g HAVING n > 4 ORDER BY g LIMIT 7 OFFSET 3", `
read a: 50000 parallel
group by a.g: COUNT(*): 10000 memory
filter groups by COUNT(*) > 4: 10000
sort by a.g: 10 memory
limit 7, offset 3: 7`},
		{"SELECT DISTINCT g FROM a HAVING g > 5000 ORDER BY g", `
read a: 50000 parallel
filter groups by a.g > 5000: 24995
distinct: 4999 memory
sort by a.g: 4999 memory`},
		{"SELECT COUNT(*) AS n FROM (SELECT id FROM a WHERE id > 9 UNION ALL SELECT id FROM s) x WHERE id < 20", `
  read a, filtered by a.id > 9: 49990 parallel
  read s: 1000
  union of all rows: 50990
read x, filtered by x.id < 20: 30
one group: COUNT(*): 1 memory`},
		{"SELECT id FROM s UNION SELECT id FROM a WHERE id < 1500", `
read s: 1000
read a, filtered by a.id < 1500: 1500 parallel
union of distinct rows: 1500 memory`},
		// A LIMIT ends the reading: how far it was is not the same in every run.
		{"SELECT id FROM a LIMIT 5", `
read a: -1 parallel
limit 5, offset 0: 5`},
		{"SELECT id FROM (SELECT id FROM a HAVING id > 3) x WHERE id < 40000 LIMIT 5", `
  read a: -1 parallel
  filter groups by a.id > 3: -1
read x, filtered by x.id < 40000: -1
limit 5, offset 0: 5`},
		{"SELECT id FROM s UNION ALL SELECT id FROM a LIMIT 5", `
read s: -1
read a: -1
union of all rows: -1
limit 5, offset 0: 5`},
	} {
		for range 2 {
			got := stepsOf(t, sets, test.query, 0, &counting{}, 2) // a plan that runs again counts anew
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", test.query, diff)
			}
		}
	}
}

// lanes is an output that goroutines share.
type lanes struct{ counting }

func (l *lanes) Fork() op.Lane         { return &lanes{} }
func (l *lanes) Begin(func() error)    {}
func (l *lanes) Flush(err error) error { return err }

// TestStepsOfLanes: filters that goroutines share count the rows of all.
func TestStepsOfLanes(t *testing.T) {
	t.Parallel()
	sets := map[string]queries.Dataset{"a": numbers(50_000), "s": numbers(1000)}
	for query, want := range map[string]string{
		"SELECT id FROM a HAVING id > 300": `
read a: 50000 parallel
filter groups by a.id > 300: 49699`,
		"SELECT id FROM (SELECT id, g FROM a UNION ALL SELECT id, g FROM s) x WHERE id < 40000 HAVING id >= 100": `
  read a: 50000 parallel
  read s: 1000
  union of all rows: 51000
read x, filtered by x.id < 40000: 41000
filter groups by x.id >= 100: 40800`,
	} {
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), stepsOf(t, sets, query, 0, &lanes{}, 2)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", query, diff)
		}
	}
}

// TestStepsOfASpilledRun: the rows are the same with a budget that is not enough, and the steps say that.
func TestStepsOfASpilledRun(t *testing.T) {
	t.Parallel()
	sets := map[string]queries.Dataset{"a": numbers(50_000), "b": numbers(50_000), "s": numbers(1000)}
	for query, want := range map[string]string{
		"SELECT a.id, b.v FROM a JOIN s ON s.id = a.g JOIN b ON b.k = a.id + s.id": `
read a: 50000
inner join s on s.id = a.g: 5000 memory
inner join b on b.k = a.id + s.id: 4963 spilled`,
		"SELECT a.id, b.v FROM a JOIN b ON b.id = a.id": `
read a: 50000
inner join b on b.id = a.id: 50000 sorted`,
		"SELECT a.id, b.v FROM a JOIN b ON b.k = a.id": `
read a: 50000 parallel
inner join b on b.k = a.id: 50000 spilled`,
		"SELECT DISTINCT v FROM (SELECT v, COUNT(DISTINCT id) AS n FROM a GROUP BY v) x ORDER BY v": `
  read a: 50000 parallel
  group by a.v: COUNT(DISTINCT a.id): 50000 spilled
read x: 50000
distinct: 50000 spilled
sort by x.v: 50000 spilled`,
	} {
		want = strings.TrimPrefix(want, "\n")
		if diff := cmp.Diff(want, stepsOf(t, sets, query, 300<<10, &counting{}, 1)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", query, diff)
		}
		rows := func(steps string) string {
			return strings.NewReplacer(" spilled", "", " sorted", "", " memory", "", " parallel", "").Replace(steps)
		}
		if diff := cmp.Diff(rows(want), rows(stepsOf(t, sets, query, 0, &counting{}, 1))); diff != "" {
			t.Errorf("%s with memory (-want +got)\n%s", query, diff)
		}
	}
}

// TestStepsBeforeALimit: what a LIMIT ends has no rows in any run, whatever the memory.
func TestStepsBeforeALimit(t *testing.T) {
	t.Parallel()
	sets := map[string]queries.Dataset{"a": numbers(20_000), "b": numbers(8000)}
	for _, query := range []string{
		"SELECT x.v, x.n, b.id FROM (SELECT v, COUNT(*) AS n FROM a GROUP BY v HAVING n > 0) x JOIN b ON b.id = x.n LIMIT 70",
		"SELECT x.v FROM (SELECT v FROM a ORDER BY v) x JOIN b ON b.id = CHAR_LENGTH(x.v) LIMIT 70",
		"SELECT v FROM (SELECT DISTINCT v FROM a UNION ALL SELECT v FROM b WHERE id > 40) x WHERE v > '1' LIMIT 70",
		"SELECT v FROM a WHERE id > 5 UNION SELECT v FROM b WHERE id > 9 ORDER BY v LIMIT 70",
	} {
		rows := func(budget int64) string {
			text := stepsOf(t, sets, query, budget, &counting{}, 2)
			for _, how := range []string{" memory", " spilled", " parallel"} {
				text = strings.ReplaceAll(text, how, "")
			}
			return text
		}
		if diff := cmp.Diff(rows(0), rows(64<<10)); diff != "" {
			t.Errorf("%s (-in memory +spilled)\n%s", query, diff)
		}
	}
}
