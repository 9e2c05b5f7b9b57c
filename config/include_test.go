package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dialect"
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
