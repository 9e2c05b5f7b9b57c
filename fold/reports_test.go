package fold_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// bigRows is the number of rows of the large join.
const bigRows = 1_000_000

// TestFilesAreWhatMariaDBJoins compares whole files, byte for byte, with MariaDB's own join of the
// same tables: once with enough memory for all rows, and once through scratch files.
func TestFilesAreWhatMariaDBJoins(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, reportsYAML)
	for statement := range strings.SplitSeq(tablesSQL, ";\n") {
		if strings.TrimSpace(statement) != "" {
			s.Records.Exec(statement)
		}
	}
	stop := s.Serve(s.File)
	t.Run("held", func(t *testing.T) { compareFiles(t, s) })
	stop()
	s.Serve(s.Write("scratch.yaml", reportsYAML, "limits: {fold_memory: 100KB}"))
	t.Run("through scratch files", func(t *testing.T) { compareFiles(t, s) })
	entries, err := filepath.Glob(s.Dir + "/files/[^.]*")
	if err != nil || len(entries) != 13 {
		t.Errorf("%d folders in the sink, not one for each report: %v", len(entries), err)
	}
}

// compareFiles runs every report and compares its file.
func compareFiles(t *testing.T, s *e2e.Stack) {
	for _, c := range []struct {
		report, parameters, header, query string
		rows                              int // at least
	}{
		{
			report: "inner", parameters: `{"tag":"vip"}`, header: "user_id,tag,id,amount,note", rows: 1000,
			query: "SELECT t.user_id, t.tag, w.id, w.amount, w.note FROM tags t JOIN withdraws w ON w.user_id = t.user_id WHERE t.tag = 'vip' ORDER BY t.user_id, w.id",
		},
		{
			report: "left", header: "user_id,name,amount,paid", rows: 3000,
			query: `SELECT u.id, u.name, w.amount, p.amount FROM users u
				LEFT JOIN withdraws w ON w.user_id = u.id AND w.amount > 90
				LEFT JOIN payments p ON p.user_id = u.id ORDER BY u.id, w.id, p.id`,
		},
		{
			report: "full", header: "user_id,tag,amount", rows: 1500,
			query: `SELECT user_id, tag, amount FROM (
				SELECT t.user_id, t.tag, p.amount, 0 AS part, t.user_id AS a, p.id AS b FROM tags t LEFT JOIN payments p ON p.user_id = t.user_id WHERE t.tag = 'new'
				UNION ALL
				SELECT p.user_id, NULL, p.amount, 1, 0, p.id FROM payments p
				WHERE NOT EXISTS (SELECT 1 FROM tags t WHERE t.user_id = p.user_id AND t.tag = 'new')) x ORDER BY part, a, b`,
		},
		{
			report: "many", header: "user_id,tag,withdraw,payment", rows: 10_000,
			query: `SELECT t.user_id, t.tag, w.id, p.id FROM tags t JOIN withdraws w ON w.user_id = t.user_id
				JOIN payments p ON p.user_id = t.user_id ORDER BY t.user_id, t.tag, w.id, p.id`,
		},
		{
			report: "composite", header: "day,code,price,stock", rows: 100,
			query: `SELECT a.day, a.code, a.price, b.stock FROM prices a JOIN stocks b ON b.day = a.day AND b.code = a.code ORDER BY a.id, b.id`,
		},
		{
			report: "stages", parameters: `{"from":"2024-01-01"}`, header: "user_id,amount,paid", rows: 60_000,
			query: `SELECT b.user_id, b.amount, p.paid FROM buyers b JOIN
				(SELECT user_id, SUM(amount) AS paid FROM receipts GROUP BY user_id) p ON p.user_id = b.user_id ORDER BY b.id`,
		},
		{
			report: "three", header: "user_id,tag,amount,note", rows: 400,
			query: `SELECT t.user_id, t.tag, p.amount, w.note FROM tags t
				LEFT JOIN (SELECT * FROM payments WHERE user_id IN (SELECT user_id FROM tags WHERE tag = 'zz')) p ON p.user_id = t.user_id
				LEFT JOIN (SELECT * FROM withdraws WHERE user_id IN (SELECT user_id FROM payments)) w ON w.user_id = t.user_id AND p.user_id IS NOT NULL
				WHERE t.tag = 'zz' ORDER BY t.user_id, p.id, w.id`,
		},
		{
			report: "sorted", header: "user_id,name,id,amount", rows: 20_000,
			query: "SELECT a.user_id, a.name, b.id, b.amount FROM big_a a LEFT JOIN big_b b ON b.user_id = a.user_id WHERE a.user_id <= 50000 ORDER BY a.user_id, b.id",
		},
		{ // the merge has already written many rows when it detects this
			report: "sorted_until_the_end", header: "user_id,name,id,amount", rows: 20_000,
			query: "SELECT a.user_id, a.name, b.id, b.amount FROM big_a a LEFT JOIN big_b b ON b.user_id = a.user_id WHERE a.user_id <= 50000 ORDER BY a.user_id, b.id",
		},
		{report: "nothing", header: "user_id,tag,amount", query: "SELECT 1 FROM tags WHERE FALSE"},
		{
			report: "alphabets", header: "word,meaning", rows: 8,
			query: "SELECT a.word, b.meaning FROM words a JOIN meanings b ON b.word = a.word ORDER BY a.id, b.id",
		},
		{
			report: "types", header: "u,d,da,dt,ts,ti,j,b,e,bl,txt,n,f,se,y", rows: 4,
			query: "SELECT u, d, da, dt, ts, ti, j, b + 0, e, REPLACE(TO_BASE64(bl), '\\n', ''), txt, NULL, CAST(f AS CHAR), se, y FROM types ORDER BY id",
		},
	} {
		t.Run(c.report, func(t *testing.T) {
			s := s.In(t)
			got := s.Jobs.Succeed(c.report, c.parameters)
			want := s.Records.Expect(c.header, c.query)
			if lines := strings.Count(want, "\n") - 1; lines < c.rows {
				t.Fatalf("the query gives %d rows, fewer than %d: the test is not what it says", lines, c.rows)
			}
			if got != want {
				t.Errorf("-MariaDB +Fanfold:\n%s", e2e.FirstDifference(want, got))
			}
		})
	}
	t.Run("million", func(t *testing.T) {
		s := s.In(t)
		got := s.Jobs.Succeed("million", "")
		want := s.Records.Expect("user_id,name,id,amount", "SELECT a.user_id, a.name, b.id, b.amount FROM big_a a JOIN big_b b ON b.user_id = a.user_id ORDER BY a.user_id, b.id")
		if n := strings.Count(got, "\n"); n != bigRows+1 {
			t.Errorf("%d lines, not %d", n, bigRows+1)
		}
		if got != want {
			t.Errorf("-MariaDB +Fanfold:\n%s", e2e.FirstDifference(want, got))
		}
	})
}

const reportsYAML = `
  inner:
    parameters: {tag: string}
    listeners:
      tags: {database: db, query: "SELECT user_id, tag FROM tags WHERE tag = :tag ORDER BY user_id"}
      withdraws: {database: db, query: "SELECT id, user_id, amount, note FROM withdraws ORDER BY id"}
    join: {key: user_id}
    file: {formulas: off}
  left:
    listeners:
      users: {database: db, query: "SELECT id, name FROM users ORDER BY id"}
      withdraws: {database: db, query: "SELECT user_id, amount FROM withdraws WHERE amount > 90 ORDER BY id"}
      payments: {database: db, query: "SELECT user_id, amount FROM payments ORDER BY id"}
    join: {key: user_id, listeners: [{name: users, key: id}, {name: withdraws, type: left}, {name: payments, type: left}]}
    file: {columns: [user_id, users.name, withdraws.amount, {column: payments.amount, label: paid}]}
  full:
    listeners:
      tags: {database: db, query: "SELECT user_id, tag FROM tags WHERE tag = 'new' ORDER BY user_id"}
      payments: {database: db, query: "SELECT user_id, amount FROM payments ORDER BY id"}
    join: {key: user_id, listeners: [tags, {name: payments, type: full}]}
  many:
    listeners:
      tags: {database: db, query: "SELECT user_id, tag FROM tags ORDER BY user_id, tag"}
      withdraws: {database: db, query: "SELECT user_id, id AS withdraw FROM withdraws ORDER BY id"}
      payments: {database: db, query: "SELECT user_id, id AS payment FROM payments ORDER BY id"}
    join: {key: user_id}
  composite:
    listeners:
      prices: {database: db, query: "SELECT day, code, price FROM prices ORDER BY id"}
      stocks: {database: db, query: "SELECT day, code, stock FROM stocks ORDER BY id"}
    join: {key: [day, code]}
  stages:
    parameters: {from: date}
    listeners:
      buyers: {database: db, query: "SELECT user_id, amount FROM buyers WHERE at >= :from ORDER BY id"}
      receipts: {database: db, query: "SELECT user_id, SUM(amount) AS paid FROM receipts WHERE user_id IN (:buyers.user_id) GROUP BY user_id"}
    join: {key: user_id}
  three:
    listeners:
      tags: {database: db, query: "SELECT user_id, tag FROM tags WHERE tag = 'zz' ORDER BY user_id"}
      payments: {database: db, query: "SELECT user_id, amount FROM payments WHERE user_id IN (:tags.user_id) ORDER BY id"}
      withdraws: {database: db, query: "SELECT user_id, note FROM withdraws WHERE user_id IN (:payments.user_id) ORDER BY id"}
    join: {key: user_id, listeners: [tags, {name: payments, type: left}, {name: withdraws, type: left}]}
    file: {formulas: off}
  nothing:
    listeners:
      tags: {database: db, query: "SELECT user_id, tag FROM tags WHERE FALSE"}
      payments: {database: db, query: "SELECT user_id, amount FROM payments WHERE user_id IN (:tags.user_id)"}
    join: {key: user_id, listeners: [tags, {name: payments, type: full}]}
  alphabets:
    listeners:
      words: {database: db, query: "SELECT word FROM words ORDER BY id"}
      meanings: {database: db, query: "SELECT word, meaning FROM meanings ORDER BY id"}
    join: {key: word}
  types:
    listeners:
      types: {database: db, query: "SELECT u, d, da, dt, ts, ti, j, b, e, bl, txt, NULL AS n, f, se, y FROM types ORDER BY id"}
  sorted:
    listeners:
      sorted_a: {database: db, query: "SELECT user_id, name FROM big_a WHERE user_id <= 50000 ORDER BY user_id"}
      sorted_b: {database: db, query: "SELECT id, user_id, amount FROM big_b WHERE user_id <= 50000 ORDER BY user_id, id"}
    join: {key: user_id, listeners: [sorted_a, {name: sorted_b, type: left}]}
  sorted_until_the_end:
    listeners:
      until_a: {database: db, query: "SELECT user_id, name FROM big_a WHERE user_id <= 50000 ORDER BY user_id"}
      until_b: {database: db, query: "SELECT id, user_id, amount FROM big_b WHERE user_id <= 50000 ORDER BY user_id = 8, user_id, id"}
    join: {key: user_id, listeners: [until_a, {name: until_b, type: left}]}
  million:
    listeners:
      big_a: {database: db, query: "SELECT user_id, name FROM big_a ORDER BY user_id"}
      big_b: {database: db, query: "SELECT id, user_id, amount FROM big_b ORDER BY id"}
    join: {key: user_id}
`

// tablesSQL creates the tables of those reports, with duplicate keys, keys that exist on one side
// only, and values that need quoting.
var tablesSQL = fmt.Sprintf(`
CREATE TABLE users (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(100));
INSERT INTO users SELECT seq, CONCAT(ELT(1 + seq %% 4, 'plain', 'with, comma', 'with "quotes"', 'two\r\nlines'), ' ', seq) FROM seq_1_to_3000;
CREATE TABLE tags (user_id BIGINT UNSIGNED, tag VARCHAR(20), KEY (user_id));
INSERT INTO tags SELECT seq, ELT(1 + seq %% 3, 'vip', 'new', 'old') FROM seq_1_to_4000;
INSERT INTO tags SELECT seq, 'zz' FROM seq_1_to_500;
INSERT INTO tags VALUES (NULL, 'vip'), (NULL, 'new');
CREATE TABLE withdraws (id BIGINT UNSIGNED PRIMARY KEY, user_id BIGINT UNSIGNED, amount DECIMAL(18,2), note VARCHAR(50), KEY (user_id));
INSERT INTO withdraws SELECT seq, IF(seq %% 50 = 0, NULL, 1 + seq * 7 %% 4500), seq %% 10000 / 100, IF(seq %% 7 = 0, NULL, CONCAT('=note, "', seq, '"\n')) FROM seq_1_to_9000;
CREATE TABLE payments (id BIGINT UNSIGNED PRIMARY KEY, user_id BIGINT UNSIGNED, amount DECIMAL(18,2), KEY (user_id));
INSERT INTO payments SELECT seq, IF(seq %% 60 = 0, NULL, 1 + seq * 3 %% 3500), seq %% 777 / 100 FROM seq_1_to_7000;
CREATE TABLE prices (id INT PRIMARY KEY, day DATE, code VARCHAR(5), price DECIMAL(10,3));
INSERT INTO prices SELECT seq, '2024-01-01' + INTERVAL seq %% 40 DAY, ELT(1 + seq %% 5, 'a', 'A', 'b', NULL, '01'), seq / 8 FROM seq_1_to_400;
CREATE TABLE stocks (id INT PRIMARY KEY, day DATE, code VARCHAR(5), stock INT);
INSERT INTO stocks SELECT seq, '2024-01-01' + INTERVAL seq %% 50 DAY, ELT(1 + seq %% 4, 'a', 'A', '1', '01'), seq FROM seq_1_to_300;
CREATE TABLE buyers (id INT PRIMARY KEY, user_id BIGINT UNSIGNED, amount DECIMAL(10,2), at DATE);
INSERT INTO buyers SELECT seq, IF(seq %% 100 = 0, NULL, 18446744073709400000 + seq %% 55000), seq / 100, '2024-05-05' FROM seq_1_to_66000;
CREATE TABLE receipts (id INT PRIMARY KEY, user_id BIGINT UNSIGNED, amount DECIMAL(10,2), KEY (user_id));
INSERT INTO receipts SELECT seq, 18446744073709400000 + seq %% 60000, seq %% 5000 / 100 FROM seq_1_to_120000;
CREATE TABLE words (id INT PRIMARY KEY, word VARCHAR(50));
INSERT INTO words VALUES (1,'страна'), (2,'国家'), (3,'国家'), (4,'Größe'), (5,'größe'), (6,'بلد'), (7,'देश'), (8,'👩‍👩‍👧'), (9,'e´'), (10,'é'), (11,NULL), (12,'');
CREATE TABLE meanings (id INT PRIMARY KEY, word VARCHAR(50), meaning VARCHAR(50));
INSERT INTO meanings VALUES (1,'国家','country'), (2,'страна','country, "land"'), (3,'größe','size'), (4,'بلد','country'), (5,'देश','country'), (6,'👩‍👩‍👧','family'), (7,'é','accent'), (8,NULL,'null'), (9,'','empty'), (10,'国家','nation');
CREATE TABLE types (id INT PRIMARY KEY, u BIGINT UNSIGNED, d DECIMAL(40,10), da DATE, dt DATETIME(6), ts TIMESTAMP(3) NULL, ti TIME(2), j JSON, b BIT(64), e ENUM('x','yes, "so"'), bl BLOB, txt TEXT, f DOUBLE, se SET('a','b'), y YEAR);
INSERT INTO types VALUES
 (1, 18446744073709551615, 123456789012345678901234567890.0123456789, '2024-02-29', '2024-02-29 23:59:59.123456', '2024-01-02 03:04:05.678', '-838:59:59.00', '{"a": [1, "x"]}', b'1111111111111111111111111111111111111111111111111111111111111111', 'yes, "so"', x'00ff10', 'a\r\nb', 0.1, 'a,b', 2024),
 (2, 9007199254740993, -0.0000000001, '1000-01-01', '1000-01-01 00:00:00.000000', '1970-01-02 00:00:00.000', '00:00:00.50', '[]', b'0', 'x', '', '', -1.5, '', 1901),
 (3, 0, 0, '9999-12-31', '9999-12-31 23:59:59.999999', '2038-01-01 00:00:00.001', '838:59:59.00', 'null', b'101', 'x', REPEAT('x', 1000), REPEAT('ü', 1000), 1e15, 'b', 2155),
 (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE big_a (user_id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(40));
INSERT INTO big_a SELECT seq, CONCAT('name ', seq) FROM seq_1_to_%[1]d;
CREATE TABLE big_b (id BIGINT UNSIGNED PRIMARY KEY, user_id BIGINT UNSIGNED, amount DECIMAL(18,2), KEY (user_id));
INSERT INTO big_b SELECT seq, 1 + seq * 7919 %% %[1]d, seq %% 100000 / 100 FROM seq_1_to_%[1]d;
`, bigRows)
