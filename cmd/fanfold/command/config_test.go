package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/config"
)

// TestConfigShow: config show prints one file with included files, SQL files and defaults, the stages of every report
// and no secret.
func TestConfigShow(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"fanfold.yaml": `include: [reports/*.yaml]
redis: redis://app:s3cret@127.0.0.1:1/0
databases: {db: {dsn: "u:s3cret@tcp(127.0.0.1:1)/s", max_connections: "${FANFOLD_NONE:-3}"}}
records: {database: db}
sink: file:///nowhere
`,
		"reports/paid.yaml": `reports:
  paid: &paid
    listeners:
      users: {database: db, query: "SELECT id, country FROM users WHERE id IN (:orders.user_id)"}
      orders: {database: db, query_file: orders.sql}
    fold: SELECT u.country, SUM(o.amount) AS paid FROM orders o JOIN users u ON u.id = o.user_id GROUP BY u.country
    schedule: [{cron: "0 9 * * mon", time_zone: Europe/Berlin}]
  again: {<<: *paid, retry: 0}
`,
		"reports/orders.sql": "-- ${no} variable\nSELECT id, user_id, amount FROM orders\n",
	} {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	show := func(args ...string) string {
		t.Helper()
		var out, failed bytes.Buffer
		args = append([]string{"-c", filepath.Join(folder, "fanfold.yaml"), "config", "show"}, args...)
		if code := run(t.Context(), args, &out, &failed); code != exitOK {
			t.Fatalf("%d %s", code, &failed)
		}
		return out.String()
	}
	const want = `reports:
  # definition: DEFINITION
  # stage 1: orders
  # stage 2: users (after orders)
  # TIMER: 0 9 * * mon Europe/Berlin
  paid:
    listeners:
      users:
        kind: mysql
        timeout: 5m
        retry:
          retries: 6
          delay: 1m
          backoff: fixed
        database: db
        query: "SELECT id, country FROM users WHERE id IN (:orders.user_id)"
        read_from: primary
      orders:
        kind: mysql
        timeout: 5m
        retry:
          retries: 6
          delay: 1m
          backoff: fixed
        database: db
        query: |-
          -- $${no} variable
          SELECT id, user_id, amount FROM orders
        read_from: primary
    newest_only: false
    timeout: 1h38m
    retry:
      retries: 6
      delay: 1m
      backoff: fixed
    fold: SELECT u.country, SUM(o.amount) AS paid FROM orders o JOIN users u ON u.id = o.user_id GROUP BY u.country
    file:
      format: csv
      compress: off
      empty: write
      line_end: crlf
      formulas: escape
    on_change: restart
    deadline_during_pause: waits
    schedule:
    - cron: "0 9 * * mon"
      time_zone: Europe/Berlin
      catch_up: once
    strict_timeout: false
`
	var result struct {
		Configuration struct{ Reports map[string]any }
		Reports       []config.ReportView
	}
	if err := json.Unmarshal([]byte(show("paid", "-o", "json")), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Reports) != 1 || len(result.Configuration.Reports) != 1 || len(result.Reports[0].Schedules) != 1 {
		t.Fatalf("%+v", result)
	}
	paid := result.Reports[0]
	stages := [][]config.StagedView{{{Listener: "orders", Needs: []string{}}}, {{Listener: "users", Needs: []string{"orders"}}}}
	if diff := cmp.Diff(stages, paid.Stages); diff != "" {
		t.Error(diff)
	}
	filled := strings.NewReplacer("DEFINITION", paid.Definition, "TIMER", paid.Schedules[0].Timer).Replace(want)
	if diff := cmp.Diff(filled, show("paid")); diff != "" {
		t.Error(diff)
	}
	all := show()
	for _, want := range []string{"  again:\n", "max_connections: 3\n", "url: '***'\n", "dsn: '***'\n", "fold_memory: 128MB"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q:\n%s", want, all)
		}
	}
	for _, not := range []string{"s3cret", "include", "&paid", "<<"} {
		if strings.Contains(all+show("-o", "json"), not) {
			t.Errorf("%q is shown:\n%s", not, all)
		}
	}
}
