package fanin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/sink"
)

// TestManifestCountsMatches: the manifest has the numbers of rows without a match that SQL finds, for
// small jobs, and for larger ones whatever the memory of a fold.
func TestManifestCountsMatches(t *testing.T) {
	t.Parallel()
	const listeners = `
    listeners: {
      a: {database: db, query: "SELECT k, id AS a FROM a ORDER BY %[1]s LIMIT :n"},
      b: {database: db, query: "SELECT k, id AS b FROM b ORDER BY %[1]s LIMIT :n"},
      c: {database: db, query: "SELECT k, id AS c FROM c ORDER BY %[1]s LIMIT :n"},
      d: {database: db, query: "SELECT k, nothing FROM d", optional: true, retry: 0, columns: [k, nothing]}}
    join: {key: k, listeners: [a, {name: b, type: %[2]s}, {name: c, type: %[3]s}, {name: d, type: left}]}
    parameters: {n: integer}
`
	s := e2e.New(t, "  inner:"+fmt.Sprintf(listeners, "id", "inner", "inner")+"  full:"+fmt.Sprintf(listeners, "id", "left", "full")+
		"  sorted:"+fmt.Sprintf(listeners, "k, id", "inner", "left"), "limits: {fold_memory: 64KB, lease: 5s}")
	for name, key := range map[string]string{"a": "seq * 7 % 5000", "b": "IF(seq % 10 = 0, NULL, seq * 11 % 9000)", "c": "CAST(seq * 13 % 30000 AS SIGNED) - 100"} {
		s.Records.Exec("CREATE TABLE " + name + " (id INT PRIMARY KEY, k INT, KEY (k, id))")
		s.Records.Exec("INSERT INTO " + name + " SELECT seq, " + key + " FROM seq_1_to_20000")
	}
	s.Serve(s.File)
	for _, r := range []string{"inner", "full", "sorted"} {
		for _, n := range []int{100, 20_000} {
			job := s.Jobs.Run(r, fmt.Sprintf(`{"n": %d}`, n))
			data, err := os.ReadFile(sink.ManifestName(strings.TrimPrefix(job.File, "file://")))
			if err != nil {
				t.Fatal(err, job)
			}
			var m sink.Manifest
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			order := map[bool]string{true: "k, id", false: "id"}[r == "sorted"]
			rows := func(table string) string {
				return fmt.Sprintf("(SELECT k FROM %s ORDER BY %s LIMIT %d)", table, order, n)
			}
			count := func(table, other string) *int64 {
				var found int64
				if err := s.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+rows(table)+" t WHERE t.k IS NULL OR t.k NOT IN (SELECT k FROM "+rows(other)+" o WHERE k IS NOT NULL)").Scan(&found); err != nil {
					t.Fatal(err)
				}
				return &found
			}
			for i, l := range m.Listeners {
				var unmatched, first *int64
				if i == 1 || i == 2 {
					unmatched, first = count(l.Name, "a"), count("a", l.Name)
				}
				if diff := cmp.Diff([]*int64{unmatched, first}, []*int64{l.Unmatched, l.FirstUnmatched}); diff != "" {
					t.Errorf("%s of %d rows, %s (-SQL +manifest):\n%s", r, n, l.Name, diff)
				}
			}
		}
	}
}
