package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/dialect"
	"github.com/google/go-cmp/cmp"
)

// sqlFiles are files with queries of testEnvironment.
var sqlFiles = map[string]string{
	"sql/users.sql":            "\ufeffSELECT id, name FROM users\r\n\r\n",
	"sql/names.sql":            "SELECT id, name\r\nFROM users\n",
	"sql/dollar.sql":           "SELECT id, '${NOT_SET}' AS name FROM users",
	"sql/latin1.sql":           "SELECT id,\n  'n\xfcchtern' AS name FROM users",
	"sql/quote.sql":            "-- names\r\nSELECT id,\r\n  'ü', 'name FROM users\r\n",
	"sql/open.sql":             "SELECT id, (\n  name FROM users",
	"sql/two.sql":              "SELECT id, name\nFROM users;\n  DELETE FROM users;\n",
	"sql/names-of-nothing.sql": "SELECT id, name FROM users\nWHERE day > :since AND day < :sinse AND\n\n  id IN (:shop.orders.di)",
	"sql/star.sql":             "SELECT *\nFROM users",
}

// TestQueryFile: the query is the file's text with the line breaks of YAML and without variables.
func TestQueryFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"sql/users.sql":  "SELECT id, name FROM users",
		"sql/names.sql":  "SELECT id, name\nFROM users",
		"sql/dollar.sql": "SELECT id, '${NOT_SET}' AS name FROM users",
	} {
		file := strings.Replace(base, `query: "SELECT id, name FROM users"`, "query_file: "+name, 1)
		c, err := Load("etc/f.yaml", []byte(file), testEnvironment(), TestKinds)
		if err != nil {
			t.Fatal(err)
		}
		l, _, _ := c.Reports["orders"].Listener("shop.users")
		if got := dialect.QueryOf(l).Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if want := []string{"etc/f.yaml", "etc/" + name}; !slices.Equal(c.Files, want) {
			t.Errorf("read %q, want %q", c.Files, want)
		}
	}
}

// includeBase is base in two files.
var includeBase = "include: [more/main.yaml, more/orders.yaml]\n" +
	strings.Replace(base[:strings.Index(base, "reports:")], "databases:\n  main: {dsn: \"app:${USER_DB_PASSWORD}@tcp(db:3306)/app\"}\n", "", 1)

// moreFiles are files of testEnvironment that a file may include.
var moreFiles = map[string]string{
	"more/main.yaml":       "databases:\n  main: {dsn: \"app:${USER_DB_PASSWORD}@tcp(db:3306)/app\"}\n",
	"more/orders.yaml":     strings.Replace(base[strings.Index(base, "reports:"):], `query: "SELECT id, name FROM users"`, "query_file: users.sql", 1),
	"more/users.sql":       "SELECT id, name FROM users\n",
	"more/empty.yaml":      "# nothing yet\n",
	"more/list.yaml":       "- reports\n",
	"more/broken.yaml":     "reports:\n\tx: 1\n",
	"more/nulls.yaml":      "reports:\ntimers: null\ndatabases:\napis:\n",
	"wrong/again.yaml":     "# once more\nreports:\n  orders: {listeners: {a: {database: main, query: SELECT 1 AS n}}}\ndatabases:\n  main: {dsn: " + canary + "}\n",
	"wrong/api.yaml":       "\n\napis: {main: {url: https://h}}\n",
	"wrong/fields.yaml":    "include: [more/nulls.yaml]\nredis: redis://:" + canary + "@h\nreprots: {}\nlimits: {tasks: 1}\ncolour: red\nreports: {x: {timeout: soon, listeners: {shop.users: {kind: external, columns: {n: }}}}}\n",
	"wrong/kinds.yaml":     "reports: [x]\n",
	"wrong/secret.yaml":    "databases: {two: {dns: " + canary + "}, three: {dsn: app:pa,s/s@w0rd-7Qx@tcp(db)/x}}\n",
	"wrong/reference.yaml": "reports:\n  r: {listeners: {a: {database: mian, query_file: ../sql/open.sql}, b: {database: main, query_file: none.sql}}}\n",
	"timers/a.yaml":        "timers:\n  a: {key: 'x:{n}', append: {stream: s}}\n",
	"timers/b.yaml":        "timers:\n\n  b: {key: 'x:{m}', append: {stream: s}}\n",
}

// TestInclude: what stands in another file is as if it stood in this one.
func TestInclude(t *testing.T) {
	t.Parallel()
	want, err := Load("f.yaml", []byte(base), testEnvironment(), TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	hash := want.Reports["orders"].Hash()
	const files = "include: [more/main.yaml, more/orders.yaml]"
	for include, read := range map[string][]string{
		files: {"more/main.yaml", "more/orders.yaml"},
		"include: [more/orders.yaml, 'more/[m]*.yaml', more/main.yaml]": {"more/orders.yaml", "more/main.yaml"},
		"include: ['more/[mno]*.yaml', '*ers/a.yaml']":                  {"more/main.yaml", "more/nulls.yaml", "more/orders.yaml", "timers/a.yaml"},
		"include: more/[mo]*.yaml":                                      {"more/main.yaml", "more/orders.yaml"},
		files + "\nreports:\ndatabases: {}":                             {"more/main.yaml", "more/orders.yaml"},
	} {
		file := strings.Replace(includeBase, files, include, 1)
		c, err := Load("etc/f.yaml", []byte(file), testEnvironment(), TestKinds)
		if err != nil {
			t.Errorf("%s: %v", include, err)
			continue
		}
		if got := c.Reports["orders"].Hash(); got != hash {
			t.Errorf("%s: the definition is %s, want %s", include, got, hash)
		}
		if diff := cmp.Diff(want.Databases, c.Databases); diff != "" {
			t.Errorf("%s: %s", include, diff)
		}
		all := []string{"etc/f.yaml"}
		for _, name := range append(read, "more/users.sql") {
			all = append(all, "etc/"+name)
		}
		if !slices.Equal(c.Files, all) {
			t.Errorf("%s: read %q, want %q", include, c.Files, all)
		}
	}
	// Without Glob, a pattern finds nothing, and a name its file.
	env := testEnvironment()
	env.Glob = nil
	if _, err := Load("f.yaml", []byte(includeBase), env, TestKinds); err != nil {
		t.Error(err)
	}
}

// badIncludes breaks includeBase. The messages are in testdata/include_problems.golden.
var badIncludes = []struct {
	name  string
	edits []string
}{
	{"no file", []string{"include: [more/main.yaml", "include: [more/mian.yaml, none/*.yaml, forbidden"}},
	{"no list", []string{"include: [more/main.yaml, more/orders.yaml]", "include: {more: main}"}},
	{"an empty list", []string{"include: [more/main.yaml, more/orders.yaml]", "include: []"}},
	{"not a name", []string{"include: [more/main.yaml", "include: [[x], '${NOT_SET}', more/main.yaml"}},
	{"not a pattern", []string{"include: [more/main.yaml", "include: [more/main.yaml, 'more/[a'"}},
	{"itself", []string{"include: [more/main.yaml", "include: [more/main.yaml, ./f.yaml"}},
	{"files that are no use", []string{"include: [more/main.yaml", "include: [more/main.yaml, more/empty.yaml, more/list.yaml, more/broken.yaml"}},
	{"names that two files define", []string{"include: [more/main.yaml", "include: [more/main.yaml, wrong/ag*.yaml"}},
	{"names that this file and another define", []string{"records:", "databases:\n  main: {dsn: u@tcp(h)/s}\nrecords:"}},
	{"an API with the name of a database", []string{"include: [more/main.yaml", "include: [more/main.yaml, wrong/api.yaml"}},
	{"fields that are not allowed", []string{"include: [more/main.yaml", "include: [more/main.yaml, wrong/fields.yaml"}},
	{"a list in the place of the mapping", []string{"include: [more/main.yaml", "include: [more/main.yaml, wrong/kinds.yaml"}},
	{"secrets", []string{"include: [more/main.yaml", "include: [more/main.yaml, wrong/secret.yaml"}},
	{"files that included files name", []string{"include: [more/main.yaml", "include: [more/main.yaml, wrong/reference.yaml"}},
	{"timers with the same keys", []string{"include: [more/main.yaml", "include: [more/main.yaml, timers/*.yaml"}},
	{"nothing that is needed", []string{"include: [more/main.yaml, more/orders.yaml]", "include: [more/nulls.yaml]"}},
}

func TestIncludeProblems(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, c := range badIncludes {
		_, err := Load("f.yaml", []byte(strings.NewReplacer(c.edits...).Replace(includeBase)), testEnvironment(), TestKinds)
		var problems decode.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: no Problems but %v", c.name, err)
		}
		if !slices.IsSortedFunc(problems, func(a, b decode.Problem) int {
			return strings.Compare(fmt.Sprintf("%s:%05d", a.File, a.Line), fmt.Sprintf("%s:%05d", b.File, b.Line))
		}) {
			t.Errorf("%s: not sorted", c.name)
		}
		fmt.Fprintf(&got, "== %s\n%v\n", c.name, err)
	}
	if strings.Contains(got.String(), "w0rd") {
		t.Errorf("a message shows the password: %s", got.String())
	}
	const golden = "testdata/include_problems.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./config -run TestIncludeProblems -update)", err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}
