package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExplain: explain shows the stages and the steps of a fold without a server.
func TestExplain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fanfold.yaml")
	if err := os.WriteFile(file, []byte(`
redis: redis://127.0.0.1:1/0
databases: {db: {dsn: "u@tcp(127.0.0.1:1)/s"}}
records: {database: db}
sink: file:///nowhere
reports:
  paid:
    parameters: {least: decimal}
    listeners:
      orders: {database: db, query: "SELECT id, user_id, amount FROM orders ORDER BY id"}
      users: {database: db, query: "SELECT id, country FROM users WHERE id IN (:orders.user_id)"}
    fold: |
      SELECT u.country, SUM(o.amount) AS paid
      FROM orders o LEFT JOIN users u ON u.id = o.user_id AND u.country <> 'XX'
      WHERE o.amount > :least GROUP BY u.country HAVING paid > 1 ORDER BY paid DESC LIMIT 10
`), 0o600); err != nil {
		t.Fatal(err)
	}
	explain := func(name string) (string, int) {
		var out bytes.Buffer
		code := run(t.Context(), []string{"-c", file, "explain", name}, &out, &out)
		return out.String(), code
	}
	out, code := explain("paid")
	want := `stage 1: orders
stage 2: users
fold: read orders as o, filtered by o.amount > :least
fold: left join users as u on u.id = o.user_id AND u.country <> 'XX'
fold: group by u.country: SUM(o.amount)
fold: filter groups by SUM(o.amount) > 1
fold: sort by SUM(o.amount) DESC
fold: limit 10, offset 0
`
	if diff := cmp.Diff(want, out); diff != "" || code != exitOK {
		t.Errorf("%d (-want +got)\n%s", code, diff)
	}
	if out, code := explain("payd"); code != exitUsage || !strings.Contains(out, `unknown report "payd". Did you mean "paid"?`) {
		t.Errorf("a report that does not exist: %s", out)
	}
}

// TestExplainOfAJob: explain shows what a job found, from the manifest, and of a running job from Redis.
func TestExplainOfAJob(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, `
  folded:
    retry: {retries: 0}
    listeners:
      numbers: {database: db, query: "SELECT seq AS id, seq % 3 AS mod3 FROM seq_1_to_3000"}
      held: {after: numbers, database: db, query: "SELECT id, state FROM held"}
      broken: {database: db, query: "SELECT id, missing FROM held", optional: true}
    fold: SELECT n.mod3, COUNT(*) AS n FROM numbers n LEFT JOIN held h ON h.id = n.id LEFT JOIN broken b ON b.id = n.id GROUP BY n.mod3
  joined:
    listeners:
      a: {database: db, query: "SELECT seq AS id FROM seq_1_to_10"}
      b: {database: db, query: "SELECT seq AS id, 1 AS x FROM seq_8_to_20"}
    join: {key: id}
`, "limits: {shutdown_timeout: 1s}")
	s.Records.Exec("CREATE TABLE held (id INT, state INT)")
	if out, code := s.fanfold("explain", "folded", "--last"); code != exitNotFound || !strings.Contains(out, "no job of report folded has made a file") {
		t.Errorf("%d %s", code, out)
	}
	s.Serve(s.File)
	clean := func(args ...string) string {
		t.Helper()
		out, code := s.fanfold(append([]string{"explain"}, args...)...)
		if code != exitOK {
			t.Errorf("%v: exit code %d", args, code)
		}
		out = regexp.MustCompile(` in [0-9.]+m?s`).ReplaceAllString(out, " in T")
		return regexp.MustCompile(`(left out: ).*`).ReplaceAllString(out, "${1}E")
	}
	release := hold(s.Stack)
	id := s.Records.Insert("folded", "")
	s.Jobs.Push(id)
	s.Eventually("the numbers are there", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
		return err == nil && state.Tasks["numbers"].Done
	})
	running := clean("folded", "--job", id)
	for _, want := range []string{"job: " + id + ", attempt 1, PROCESSING\n", "  numbers: done, 3,000 rows (19.4 KB in Redis), try 1\n", "  held: "} {
		if !strings.Contains(running, want) {
			t.Errorf("no %q in\n%s", want, running)
		}
	}
	release()
	s.Jobs.Wait(id)
	joined := s.Records.Insert("joined", "")
	s.Jobs.Push(joined)
	s.Jobs.Wait(joined)
	const folded = `stage 1: numbers, broken
  numbers: 3,000 rows in T
  broken: left out: E
stage 2: held
  held: 0 rows in T; 0 rows match none of the first listener, and 3,000 rows of that match none of these
fold: read numbers as n → 3,000 rows
fold: left join held as h on h.id = n.id → 3,000 rows, in memory
fold: left join broken as b on b.id = n.id → 3,000 rows, in memory
fold: group by n.mod3: COUNT(*) → 3 rows, in memory
file: 3 rows, 32 B
`
	for _, args := range [][]string{{"folded", "--last"}, {"folded", "--job", id}} {
		if diff := cmp.Diff("job: "+id+", attempt 1, PARTIAL\n"+folded, clean(args...)); diff != "" {
			t.Errorf("%v (-want +got)\n%s", args, diff)
		}
	}
	want := "job: " + joined + `, attempt 1, SUCCESS
stage 1: a, b
  a: 10 rows in T
  b: 13 rows in T; 10 rows match none of the first listener, and 7 rows of that match none of these
join: short for
  SELECT a.id, b.x
  FROM a
  JOIN b ON b.id = a.id
fold: read a → 10 rows
fold: inner join b on b.id = a.id → 3 rows, in memory
file: 3 rows, 22 B
`
	if diff := cmp.Diff(want, clean("joined", "--last")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if out, code := s.fanfold("explain", "joined", "--job", joined, "--last"); code != exitNotFound ||
		!strings.Contains(out, "no job of report joined but that of record "+joined+" has made a file: omit --last") {
		t.Errorf("no other job, but %d %s", code, out)
	}
	if diff := cmp.Diff(want, clean("--job", joined)); diff != "" {
		t.Errorf("without REPORT (-want +got)\n%s", diff)
	}
	for _, args := range [][]string{{"explain"}, {"explain", "--last"}} {
		if out, code := s.fanfold(args...); code != exitUsage || !strings.Contains(out, "REPORT is missing: name a report, or a record with --job ID") {
			t.Errorf("%v: %d %s", args, code, out)
		}
	}
	s.Jobs.Run("joined", "{}")
	for _, want := range []string{"  a: 10 rows in T; expected 10 rows\n", "fold: read a → 10 rows; expected 10 rows\n",
		"fold: inner join b on b.id = a.id → 3 rows, in memory; expected 3 rows\n", "file: 3 rows, 22 B; expected 3 rows\n"} {
		if out := clean("joined", "--job", joined, "--last"); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, code := s.fanfold("explain", "joined", "--job", id); code != exitUsage || !strings.Contains(out, "record "+id+" is of report folded: fanfold explain folded --job "+id) {
		t.Errorf("%d %s", code, out)
	}
	for _, args := range [][]string{{"explain", "joined", "--job", "999999"}, {"explain", "--job", "999999"}} {
		if out, code := s.fanfold(args...); code != exitNotFound {
			t.Errorf("%v: %d %s", args, code, out)
		}
	}
}
