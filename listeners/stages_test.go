package listeners_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// listSize is larger than any number of values at which a list was ever split.
const listSize = 2500

// TestAQueryOverAnEarlierStageIsOneQuery compares the result of a second stage with MariaDB's own
// answer, for queries that would change if the list of values was split: aggregates, DISTINCT,
// LIMIT, windows, NOT IN, and values that are equal in a collation.
func TestAQueryOverAnEarlierStageIsOneQuery(t *testing.T) {
	t.Parallel()
	var reports strings.Builder
	// Each report's first stage is a column of keys, its second a query over it.
	cases := []struct {
		name, first, second, header string
		want                        string // empty: the second with a subquery in place of :a.v
	}{
		{name: "aggregate", first: "SELECT id AS v FROM sales", header: "clerk,n,paid",
			second: "SELECT clerk, COUNT(*) AS n, SUM(amount) AS paid FROM sales WHERE id IN (:a.v) GROUP BY clerk ORDER BY clerk"},
		{name: "whole", first: "SELECT id AS v FROM sales", header: "n,least",
			second: "SELECT COUNT(*) AS n, MIN(amount) AS least FROM sales WHERE id IN (:a.v)"},
		{name: "limit", first: "SELECT id AS v FROM sales", header: "id,amount",
			second: "SELECT id, amount FROM sales WHERE id IN (:a.v) ORDER BY amount DESC, id LIMIT 3"},
		{name: "distinct", first: "SELECT id AS v FROM sales", header: "clerk",
			second: "SELECT DISTINCT clerk FROM sales WHERE id IN (:a.v) ORDER BY clerk"},
		{name: "window", first: "SELECT id AS v FROM sales", header: "id,place",
			second: "SELECT id, RANK() OVER (ORDER BY amount, id) AS place FROM sales WHERE id IN (:a.v) ORDER BY id"},
		{name: "not_in", first: "SELECT id AS v FROM sales WHERE id > 100", header: "id",
			second: "SELECT id FROM sales WHERE id NOT IN (:a.v) ORDER BY id"},
		{name: "twice", first: "SELECT id AS v FROM sales", header: "id",
			second: "SELECT id FROM sales WHERE id IN (:a.v) AND id + 1 IN (:a.v) ORDER BY id"},
		// u1@x and U1@X are two values of the first stage, and one for the collation of people.
		{name: "collation", first: "SELECT mail AS v FROM mails", header: "mail,name",
			second: "SELECT mail, name FROM people WHERE mail IN (:a.v) ORDER BY id",
			want:   "SELECT mail, name FROM people ORDER BY id"},
		{name: "quotes", first: "SELECT v FROM quotes", header: "id",
			second: "SELECT id FROM quotes WHERE v IN (:a.v) ORDER BY id"},
		{name: "binary_keys", first: "SELECT b AS v FROM kinds", header: "id",
			second: "SELECT id FROM kinds WHERE b IN (:a.v) ORDER BY id"},
		{name: "blobs", first: "SELECT bl AS v FROM kinds", header: "id",
			second: "SELECT id FROM kinds WHERE bl IN (:a.v) ORDER BY id"},
		{name: "floats", first: "SELECT f AS v FROM kinds", header: "id",
			second: "SELECT id FROM kinds WHERE f IN (:a.v) ORDER BY id"},
		{name: "doubles", first: "SELECT d AS v FROM kinds", header: "id",
			second: "SELECT id FROM kinds WHERE d IN (:a.v) ORDER BY id"},
		{name: "decimals", first: "SELECT de AS v FROM kinds", header: "id",
			second: "SELECT id FROM kinds WHERE de IN (:a.v) ORDER BY id"},
		{name: "moments", first: "SELECT at AS v FROM kinds", header: "id",
			second: "SELECT id FROM kinds WHERE at IN (:a.v) ORDER BY id"},
	}
	for _, c := range cases {
		fmt.Fprintf(&reports, `
  %s:
    listeners:
      a: {database: db, query: "%s"}
      b: {after: a, database: db, query: "%s"}
    join: {key: [%s], listeners: [b]}
`, c.name, c.first, c.second, c.header)
	}
	s := e2e.New(t, reports.String())
	for _, statement := range []string{
		"CREATE TABLE sales (id INT PRIMARY KEY, clerk INT, amount DECIMAL(10,2))",
		fmt.Sprintf("INSERT INTO sales SELECT seq, seq %% 2, seq * 7 %% 1000 / 100 FROM seq_1_to_%d", listSize),
		"CREATE TABLE mails (mail VARCHAR(60) COLLATE utf8mb4_bin)",
		fmt.Sprintf("INSERT INTO mails SELECT CONCAT('u', seq, '@x') FROM seq_1_to_%d", listSize),
		fmt.Sprintf("INSERT INTO mails SELECT CONCAT('U', seq, '@X') FROM seq_1_to_%d", listSize),
		"CREATE TABLE people (id INT PRIMARY KEY, mail VARCHAR(60) COLLATE utf8mb4_general_ci, name VARCHAR(20))",
		fmt.Sprintf("INSERT INTO people SELECT seq, CONCAT('u', seq, '@X'), seq FROM seq_1_to_%d", listSize),
		"CREATE TABLE quotes (id INT PRIMARY KEY, v VARCHAR(60) COLLATE utf8mb4_bin)",
		`INSERT INTO quotes VALUES (1, ''''), (2, '\\'), (3, '\\'' OR 1=1 -- '), (4, '?'), (5, ''), (6, '\0'), (7, '\n'), (8, 'ü😀'), (9, '"'), (10, '%'), (11, NULL)`,
		"CREATE TABLE kinds (id INT PRIMARY KEY, b BINARY(16), bl BLOB, f FLOAT, d DOUBLE, de DECIMAL(30,10), at DATETIME(6))",
		fmt.Sprintf("INSERT INTO kinds SELECT seq, UNHEX(LEFT(SHA2(seq, 224), 32)), UNHEX(LEFT(SHA2(-seq, 224), 32)), seq / 10, seq / 10, seq / 7, '2024-01-01' + INTERVAL seq * 1000001 MICROSECOND FROM seq_1_to_%d", listSize),
	} {
		s.Records.Exec(statement)
	}
	s.Serve(s.File)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := s.In(t)
			got := s.Jobs.Succeed(c.name, "")
			query := cmp.Or(c.want, strings.ReplaceAll(c.second, "(:a.v)", "(SELECT v FROM ("+c.first+") earlier WHERE v IS NOT NULL)"))
			want := s.Records.Expect(c.header, query)
			if strings.Count(want, "\n") < 2 {
				t.Fatalf("MariaDB finds nothing: the test is not what it says")
			}
			if got != want {
				t.Errorf("-MariaDB +Fanfold:\n%s", e2e.FirstDifference(want, got))
			}
		})
	}
}
