package command

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// writeFiles writes files into a folder.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTestExamples runs the tests of the example.
func TestTestExamples(t *testing.T) {
	t.Parallel()
	const example = "../../../examples/tests/"
	s := commands{&e2e.Stack{TB: t, File: example + "fanfold.yaml"}}
	out, code := s.fanfold("test", "--data", example+"tests")
	for _, want := range []string{"PASS    paid-orders/all", "PASS    paid-orders/without-scores", "without scores, which has no fixture", "PASS    tagged-users"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestTestOfAReport: a file that differs is described by line and column, --update accepts it, and mistakes in
// fixtures say what to do.
func TestTestOfAReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := commands{&e2e.Stack{TB: t, File: filepath.Join(dir, "fanfold.yaml")}}
	const orders = "user_id:integer,id:integer,amount:decimal(8,2)\n7,1,1.5\n8,2,\\N\n7,3,-2\n"
	writeFiles(t, dir, map[string]string{
		"fanfold.yaml": `
redis: redis://127.0.0.1:1/0
databases: {db: {dsn: "u@tcp(127.0.0.1:1)/s"}}
records: {database: db}
sink: file:///nowhere
reports:
  paid:
    parameters: {from: {type: date, default: today-7d}, only: {type: integer, list: true, default: [7, 8]}}
    listeners:
      orders: {database: db, query: "SELECT id, user_id, amount, note FROM orders WHERE day >= :from"}
      users: {database: db, query: "SELECT id, name FROM users WHERE id IN (:orders.user_id)"}
      scores: {database: db, query: "SELECT user_id, score FROM scores", optional: true}
    fold: |
      SELECT o.id, u.name, o.amount, s.score FROM orders o JOIN users u ON u.id = o.user_id
      LEFT JOIN scores s ON s.user_id = u.id WHERE o.user_id IN (:only)
  recent:
    parameters: {from: {type: date, default: today-7d}}
    listeners: {orders: {database: db, query: "SELECT id, day FROM orders"}}
    fold: SELECT id FROM orders WHERE day >= :from
`,
		"tests/paid/orders.csv": orders,
		"tests/paid/users.csv":  "id:integer unsigned,name:text\n7,\"Zoë, \"\"Z\"\"\"\n8,\n",
	})
	data := filepath.Join(dir, "tests")
	check := func(step, want string, wantCode int, args ...string) {
		t.Helper()
		out, code := s.fanfold(append([]string{"test", "--data", data}, args...)...)
		for line := range strings.Lines(want) {
			if line = strings.TrimSpace(line); !strings.Contains(out, line) {
				t.Errorf("%s: no %q in\n%s", step, line, out)
			}
		}
		if code != wantCode {
			t.Errorf("%s: exit code %d", step, code)
		}
	}
	check("no file", "expected.csv does not exist: write it with --update", exitFailure)
	check("update", "expected.csv is written", exitOK, "--update")
	expected := filepath.Join(data, "paid", "expected.csv")
	const file = "id,name,amount,score\r\n1,\"Zoë, \"\"Z\"\"\",1.50,\r\n2,,,\r\n3,\"Zoë, \"\"Z\"\"\",-2.00,\r\n"
	if diff := cmp.Diff(file, read(t, expected)); diff != "" {
		t.Error(diff)
	}
	check("the same", "PASS    paid\nwithout scores", exitOK)
	check("its folder", "PASS    paid", exitOK, "paid")

	writeFiles(t, data, map[string]string{"paid/expected.csv": strings.Replace(file, "2,,,\r\n", "2,x,,\r\n9,9,9,9\r\n", 1)})
	check("another file", `FAIL    paid
line 3, column name: expected x, but the file has an empty cell
line 4 is missing: 9 | 9 | 9 | 9
accept its file with --update
1 of 1 tests failed`, exitFailure, "paid")
	check("parameters", "line 3 is missing: 2 | x |  |", exitFailure, "paid", "--param", "only=7")
	writeFiles(t, data, map[string]string{"paid/parameters.yaml": "only: [7]\n"})
	check("parameters.yaml", "line 3 is missing: 2 | x |  |", exitFailure, "paid")
	check("its parameter is replaced", "line 2, column id: expected 1, but the file has 2", exitFailure, "paid", "--param", "only=8")
	check("line ends", "", exitOK, "paid", "--update")
	writeFiles(t, data, map[string]string{"paid/expected.csv": strings.ReplaceAll(read(t, expected), "\r", "")})
	check("line ends", `only line ends differ, from line 1 on: expected "\n", but the file has "\r\n"`, exitFailure, "paid")

	for _, wrong := range []struct {
		name, text, want string
		code             int
	}{
		{"paid/users.csv", "id,name:text\n7,x\n", "users.csv: line 1: no type of id, and it is not guessed: correct and write the header id:integer,name:text", exitFailure},
		{"paid/users.csv", "id:integer,name\n7,x\n", "the header id:integer,name:text. A text compares by its bytes: write text collate", exitFailure},
		{"paid/users.csv", "id:integer,nane:text\n", `listener users has no column nane. Did you mean "name"?`, exitFailure},
		{"paid/users.csv", "id:integer\n", "it has no column name, which the report uses: add it", exitFailure},
		{"paid/users.csv", "id:integer,name:text\n7,a\nx,b\n", `users.csv: line 3, column id: "x" is not a value of type integer`, exitFailure},
		{"paid/users.csv", "id:integer,nick:text\nx,a\n", `users.csv: line 1: listener users has no column nick`, exitFailure},
		{"paid/users.csv", "id:integer\nx\ny\n", `users.csv: line 2, column id: "x" is not a value of type integer
users.csv: line 3, column id: "y" is not a value of type integer
users.csv: it has no column name, which the report uses: add it`, exitFailure},
		{"paid/users.csv", "id:integer,name:text,id:text\n", "column id is given twice", exitFailure},
		{"paid/users.csv", "id:integer,name:varchar\n", "the type of name:varchar is not one: write integer,", exitFailure},
		{"paid/users.csv", "id:integer,name:text\n1\n", "line 2: wrong number of fields: the header has 2 columns", exitFailure},
		{"paid/users.csv", "", "users.csv: line 1: no header: --headers writes it", exitFailure},
		{"paid/user.csv", "id:integer\n", `report paid has no listener user. Did you mean "users"?`, exitFailure},
		{"paid/parameters.yaml", "onli: 7\n", "onli is not known", exitFailure},
		{"paid/parameters.yaml", "only: seven\n", "only is a list whose element 1 is not an integer", exitFailure},
		{"paid/parameters.yaml", "- only\n", "write one NAME: VALUE a line", exitFailure},
		{"pay/users.csv", "", `unknown report "pay". Available: paid, recent`, exitUsage},
		{"recent/orders.csv", "id:integer,day:date\n", "the fold uses parameter from, which is today-7d, so the file changes with the day", exitFailure},
	} {
		path := filepath.Join(data, wrong.name)
		before, err := os.ReadFile(path)
		writeFiles(t, data, map[string]string{wrong.name: wrong.text})
		check(wrong.name+": "+wrong.text, wrong.want, wrong.code)
		if err == nil {
			writeFiles(t, data, map[string]string{wrong.name: string(before)})
		} else if os.Remove(path) == nil {
			_ = os.Remove(filepath.Dir(path)) // if it is empty
		}
	}
	if out, code := s.fanfold("test"); code != exitUsage || !strings.Contains(out, "--data is missing") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("test", "--data", data, "--param", "only=7"); code != exitUsage {
		t.Errorf("%d %s", code, out)
	}
}

// TestTestMakesTheFileOfAJob: the bytes are those of a job, for a fold and for a join, of every type.
func TestTestMakesTheFileOfAJob(t *testing.T) {
	t.Parallel()
	const listeners = `
    listeners:
      things: {database: db, query: "SELECT * FROM {schema}.things ORDER BY id", columns: [id, big, price, f, d, m, name, day, at, stamp, took, doc, raw]}
      others: {database: db, query: "SELECT thing, note, n FROM {schema}.others ORDER BY n"}`
	s := newStack(t, `
  folded:`+listeners+`
    parameters: {least: decimal}
    fold: |
      SELECT t.*, o.note, t.price * 2 AS twice, t.price / 3 AS third FROM things t LEFT JOIN others o ON o.thing = t.id
      WHERE t.price > :least OR t.price IS NULL ORDER BY t.name DESC
    file: {compress: gzip, "null": "NULL", time_zone: America/New_York}
  joined:`+listeners+`
    join: {key: id, listeners: [things, {name: others, key: thing, type: left}]}
    file: {columns: [id, price, at, stamp, note, f, took]}
  refused:
    listeners:
      gone: {database: db, query: "SELECT id, x FROM {schema}.gone"}
      others: {database: db, query: "SELECT thing, n FROM {schema}.others"}
    fold: SELECT g.x, o.n FROM gone g JOIN others o ON o.thing = g.id
`, `databases: {db: {dsn: "{dsn}", time_zone: Europe/Berlin}}`)
	s.Records.Exec("CREATE TABLE things (id INT, big BIGINT UNSIGNED, price DECIMAL(12,4), f FLOAT, d DOUBLE, m DOUBLE(8,2), name VARCHAR(30), day DATE, at DATETIME(3), stamp TIMESTAMP NULL, took TIME(1), doc JSON, raw VARBINARY(9))")
	s.Records.Exec(`INSERT INTO things VALUES
		(1, 18446744073709551615, 12.5, 0.1, 1e20, 1.5, 'b, "c"', '2024-02-29', '2024-07-01 22:15:00.5', '2024-07-01 22:15:00', '-100:00:00.5', '{"a": 1}', X'00FF'),
		(2, 0, 0.1, 1.5, -0.1, -3, '', '0001-01-01', '2024-01-01 00:00:00', '2024-01-01 00:00:00', '00:00:01', '"x"', ''),
		(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, 7, 99, 1e-7, 1e-7, 0, 'ä', '2024-01-02', '2024-01-02 01:02:03.004', '2024-01-02 01:02:03', '01:02:03.4', '[]', X'20')`)
	s.Records.Exec("CREATE TABLE others (thing INT, note VARCHAR(30), n INT)")
	s.Records.Exec("INSERT INTO others VALUES (1, 'x', 1), (1, NULL, 2), (4, 'z', 3), (9, 'lost', 4)")
	s.Serve(s.File)
	dir := t.TempDir()
	fixtures := map[string]string{
		"things.csv": `id:integer,big:integer unsigned,price:decimal(12,4),f:single,d:float,m:float(8,2),name:text collate {collation},day:date,at:datetime(3),stamp:timestamp,took:time(1),doc:json,raw:binary
1,18446744073709551615,12.5,0.1,1e20,1.5,"b, ""c""",2024-02-29,2024-07-01 22:15:00.5,2024-07-01 22:15:00,-100:00:00.5,"{""a"": 1}",AP8=
2,0,0.1,1.5,-0.1,-3,,0001-01-01,2024-01-01 00:00:00,2024-01-01 00:00:00,00:00:01,"""x""",
3,\N,\N,\N,\N,\N,\N,\N,\N,\N,\N,\N,\N
4,7,99,1e-7,1e-7,0,ä,2024-01-02,2024-01-02 01:02:03.004,2024-01-02 01:02:03,01:02:03.4,[],IA==
`,
		"others.csv": "thing:integer,note:text\n1,x\n1,\\N\n4,z\n9,lost\n",
	}
	var collation string
	if err := s.DB.QueryRow("SELECT COLLATION(name) FROM things LIMIT 1").Scan(&collation); err != nil {
		t.Fatal(err)
	}
	for name, text := range fixtures {
		text = strings.ReplaceAll(text, "{collation}", collation)
		writeFiles(t, dir, map[string]string{"folded/" + name: text, "joined/" + name: text})
	}
	z, err := gzip.NewReader(strings.NewReader(s.Jobs.Succeed("folded", `{"least": "0.05"}`)))
	if err != nil {
		t.Fatal(err)
	}
	folded, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{
		"folded/expected.csv": string(folded), "folded/parameters.yaml": "least: 0.05\n",
		"joined/expected.csv": s.Jobs.Succeed("joined", ""),
	})
	if out, code := s.fanfold("test", "--data", dir); code != exitOK {
		t.Errorf("%s\n%s", out, folded)
	}
	headers := t.TempDir()
	if out, code := s.fanfold("test", "folded", "--data", headers, "--headers"); code != exitOK || !strings.Contains(out, "things.csv") {
		t.Errorf("%d %s", code, out)
	}
	want, _, _ := strings.Cut(fixtures["things.csv"], ",doc:")                            // MariaDB has no type for it
	want = strings.NewReplacer("{collation}", collation, "(8,2)", "(38,2)").Replace(want) // the server names only the decimals
	if got := read(t, filepath.Join(headers, "folded", "things.csv")); !strings.HasPrefix(got, want+",doc:") || !strings.HasSuffix(got, ",raw:binary\n") {
		t.Errorf("got  %swant %s", got, want)
	}
	if out, code := s.fanfold("test", "folded", "--data", headers, "--param", "least=1", "--update"); code != exitOK {
		t.Errorf("the headers cannot be read: %s", out)
	}
	if out, code := s.fanfold("test", "--data", headers, "--headers"); code != exitOK || strings.Contains(out, ".csv") {
		t.Errorf("the fixtures are written again: %d %s", code, out)
	}
	out, code := s.fanfold("test", "refused", "--data", headers, "--headers")
	if code != exitFailure || !strings.Contains(out, "others.csv") || strings.Contains(out, "gone.csv") ||
		!strings.Contains(out, "report refused, listener gone: ") || !strings.Contains(out, "gone' doesn't exist") {
		t.Errorf("a query that the server refuses: %d %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(headers, "refused", "gone.csv")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the fixture of a query that the server refuses: %v", err)
	}
}
