package command

import (
	"bytes"
	"os"
	"path/filepath"
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
fold: read orders as o, filtered by 1 conditions
fold: left join users as u on 1 keys and a condition
fold: group by 1 keys, 1 aggregates
fold: filter groups
fold: sort by 1 keys
fold: limit 10, offset 0
`
	if diff := cmp.Diff(want, out); diff != "" || code != exitOK {
		t.Errorf("%d (-want +got)\n%s", code, diff)
	}
	if out, code := explain("payd"); code == exitOK {
		t.Errorf("a report that does not exist: %s", out)
	}
}
