package fanin_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

const selectReports = `
  orders:
    parameters: {least: {type: decimal, default: "0"}}
    listeners:
      orders: {database: db, query: "SELECT id, user_id, sku, amount FROM orders ORDER BY id"}
      users: {database: db, query: "SELECT id, country FROM users WHERE id IN (:orders.user_id)"}
      shop.products: {database: db, query: "SELECT sku, title FROM products WHERE sku IN (:orders.sku)"}
    fold: |
      SELECT u.country, p.title, COUNT(*) AS orders, SUM(o.amount) AS paid, AVG(o.amount) AS mean
      FROM orders o
      JOIN users u ON u.id = o.user_id
      LEFT JOIN shop.products p ON p.sku = o.sku
      WHERE o.amount > :least
      GROUP BY u.country, p.title
      ORDER BY paid DESC, u.country, p.title
  listed:
    parameters: {skus: {type: string, list: true, default: [s1, s2, s49]}}
    listeners:
      orders: {database: db, query: "SELECT id, user_id, sku, amount FROM orders ORDER BY id"}
      users: {database: db, query: "SELECT id, country FROM users"}
    fold: SELECT o.id, u.country, o.amount * 2 AS twice FROM orders o LEFT JOIN users u ON u.id = o.user_id WHERE o.sku IN (:skus)
    file: {columns: [{column: twice, label: Twice}, id]}
  partial:
    retry: 0
    listeners:
      users: {database: db, query: "SELECT id, country FROM users ORDER BY id"}
      scores: {database: db, query: "SELECT user_id, score FROM missing", optional: true}
    fold: SELECT u.id, COALESCE(s.score, -1) AS score FROM users u LEFT JOIN scores s ON s.user_id = u.id
`

// TestSelect: a report whose fold is a SELECT makes the file that MariaDB would, within little memory, too, and
// continues without an optional listener.
func TestSelect(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, selectReports, "limits: {fold_memory: 1MB, lease: 5s}")
	s.Records.Exec("CREATE TABLE orders (id INT PRIMARY KEY, user_id INT, sku VARCHAR(10), amount DECIMAL(10,2))")
	s.Records.Exec("INSERT INTO orders SELECT seq, seq * 7919 % 6000, CONCAT('s', seq % 50), seq % 700 / 7 FROM seq_1_to_40000")
	s.Records.Exec("CREATE TABLE users (id INT PRIMARY KEY, country CHAR(2))")
	s.Records.Exec("INSERT INTO users SELECT seq, ELT(1 + seq % 3, 'DE', 'FR', 'IT') FROM seq_1_to_5000")
	s.Records.Exec("CREATE TABLE products (sku VARCHAR(10) PRIMARY KEY, title VARCHAR(20))")
	s.Records.Exec("INSERT INTO products SELECT CONCAT('s', seq), CONCAT('product ', seq) FROM seq_1_to_40")
	s.Serve(s.File)
	grouped := func(least string) string {
		return s.Records.Expect("country,title,orders,paid,mean", `SELECT u.country, p.title, COUNT(*), SUM(o.amount) AS paid, AVG(o.amount)
			FROM orders o JOIN users u ON u.id = o.user_id LEFT JOIN products p ON p.sku = o.sku WHERE o.amount > `+least+`
			GROUP BY u.country, p.title ORDER BY paid DESC, u.country, p.title`)
	}
	for _, c := range []struct{ report, parameters, want string }{
		{"orders", "", grouped("0")},
		{"orders", `{"least": "50.5"}`, grouped("50.5")},
		{"listed", "", s.Records.Expect("Twice,id", "SELECT o.amount * 2, o.id FROM orders o WHERE o.sku IN ('s1', 's2', 's49') ORDER BY o.id")},
	} {
		job := s.Jobs.Run(c.report, c.parameters)
		if got := s.Files.Content(job); got != c.want {
			t.Errorf("%s %s: %s", c.report, c.parameters, e2e.FirstDifference(c.want, got))
		}
	}
	job := s.Jobs.Run("partial", "")
	var want strings.Builder
	want.WriteString("id,score\r\n")
	for id := range 5000 {
		fmt.Fprintf(&want, "%d,-1\r\n", id+1)
	}
	if job.Status != report.Partial || !strings.Contains(job.Error, "scores") {
		t.Errorf("%+v", job)
	}
	got, err := os.ReadFile(strings.TrimPrefix(job.File, "file://"))
	if err != nil || string(got) != want.String() {
		t.Error(err, e2e.FirstDifference(want.String(), string(got)))
	}
}
