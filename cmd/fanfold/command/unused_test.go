package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnusedColumnsAreNotStored: what lies in Redis of a job are the columns that its fold and its later stages use.
func TestUnusedColumnsAreNotStored(t *testing.T) {
	t.Parallel()
	const listeners = `
    listeners:
      orders: {database: db, query: "SELECT id, user_id, amount, note, paid FROM orders ORDER BY id"}
      users: {database: db, query: "SELECT id, name, country FROM users WHERE id IN (:orders.user_id)"}
      gate: {after: users, database: db, query: "SELECT id, state FROM held"}`
	s := newStackAlone(t, nil, `
  some:`+listeners+`
    fold: |
      SELECT u.country, SUM(o.amount) AS amount FROM orders o JOIN users u ON u.id = o.user_id
      LEFT JOIN gate g ON g.id = o.id GROUP BY u.country ORDER BY u.country
  every:`+listeners+`
    fold: |
      SELECT o.*, u.id AS u_id, u.name, u.country, g.id AS g_id, g.state FROM orders o JOIN users u ON u.id = o.user_id
      LEFT JOIN gate g ON g.id = o.id
`, "limits: {shutdown_timeout: 1s}")
	for _, statement := range []string{
		"CREATE TABLE orders (id INT, user_id INT, amount DECIMAL(10,2), note VARCHAR(80), paid DATETIME)",
		"INSERT INTO orders SELECT seq, seq % 100, seq / 4, CONCAT('note ', seq, ' of some length'), '2024-01-01' + INTERVAL seq MINUTE FROM seq_1_to_15000",
		"CREATE TABLE users (id INT, name VARCHAR(40), country VARCHAR(2))",
		"INSERT INTO users SELECT seq, CONCAT('user ', seq), ELT(1 + seq % 3, 'DE', 'FR', 'IT') FROM seq_1_to_99",
		"CREATE TABLE held (id INT, state INT)",
	} {
		s.Records.Exec(statement)
	}
	release := hold(s.Stack)
	s.Serve(s.File)
	bytes := map[string]int64{}
	var ids []string
	for _, of := range []struct {
		report string
		want   []string
	}{
		{"some", []string{"orders.amount", "orders.amount#1", "orders.id", "orders.id#1", "orders.user_id", "orders.user_id#1", "users.country", "users.id"}},
		{"every", nil},
	} {
		id := s.Records.Insert(of.report, "")
		ids = append(ids, id)
		s.Jobs.Push(id)
		s.Eventually("the users are there", func() bool {
			state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
			if err == nil {
				bytes[of.report] = state.Bytes
			}
			return err == nil && state.Tasks["users"].Done
		})
		fields := s.Redis.HKeys(t.Context(), s.Partitions.First().Keys.Job(id)).Val()
		fields = slices.DeleteFunc(fields, func(field string) bool {
			return !strings.Contains(field, ".") || strings.Contains(field, ":")
		})
		slices.Sort(fields)
		if of.want != nil {
			if diff := cmp.Diff(of.want, fields); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", of.report, diff)
			}
		}
	}
	t.Logf("bytes of data in Redis: %d of %d", bytes["some"], bytes["every"])
	if bytes["some"] == 0 || 2*bytes["some"] > bytes["every"] {
		t.Errorf("%d of %d bytes", bytes["some"], bytes["every"])
	}
	release()
	jobs := s.Jobs.Wait(ids...)
	const sql = "SELECT u.country, SUM(o.amount) AS amount FROM orders o JOIN users u ON u.id = o.user_id GROUP BY u.country ORDER BY u.country"
	rows, err := s.DB.QueryContext(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	want := "country,amount\r\n"
	for rows.Next() {
		var country, amount string
		if err := rows.Scan(&country, &amount); err != nil {
			t.Fatal(err)
		}
		want += country + "," + amount + "\r\n"
	}
	if diff := cmp.Diff(want, s.Files.Content(jobs[0])); diff != "" || rows.Err() != nil {
		t.Errorf("%v (-want +got)\n%s", rows.Err(), diff)
	}
	if lines := strings.Count(s.Files.Content(jobs[1]), "\n"); lines != 1+15000-150 {
		t.Errorf("%d lines", lines)
	}
}
