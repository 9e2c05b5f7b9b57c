package config

import (
	"strings"
	"testing"
)

// TestCommonMistakes in a file are named with the line in which they are, in few words.
func TestCommonMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, text string
		want            string
		lines           int // of the message
	}{
		{"tab", "    listeners:\n      shop", "\tlisteners:\n      shop", "f.yaml:12:1: not YAML: a tab in the indentation. Indent with spaces", 1},
		{"no colon at the top", "reports:", "reports", "f.yaml:7:1: not YAML: a name without a colon. Add a colon after it", 1},
		{"a secret without a name", "  main: {", "  x:\n    dsn:\n      hunter2\n      foo: bar\n  main: {", "not YAML: a name without a colon. Add a colon after it", 1},
		{"no colon below", "    listeners:\n      shop", "    listeners\n      shop", "f.yaml:12:5: not YAML: a name without a colon. Add a colon after it", 1},
		{"no closing quote", `FROM users"}`, `FROM users}`, "f.yaml:14:43: not YAML: the quote that opens here is not closed", 1},
		{"no closing quote near the top", `/app"}`, `/app}`, "f.yaml:3:15: not YAML: the quote that opens here is not closed", 1},
		{"a misspelt listener", ":shop.orders.id", ":shop.order.id", `Did you mean "shop.orders.id"?`, 1},
		{"a shortened type", "since: date", "since: int", `(value "int"). Did you mean "integer"?`, 1},
		{"a misspelt field at the top", "databases:", "databses:", `f.yaml:2:1: databses: unknown field. Did you mean "databases"?`, 1},
		{"no databases at all", "databases:", "sources:", "f.yaml:1:1: databases: missing", 2},
	} {
		if strings.Count(base, c.old) != 1 {
			t.Fatalf("%s: base has %q more than once, or not", c.name, c.old)
		}
		_, err := Load("f.yaml", []byte(strings.Replace(base, c.old, c.text, 1)), testEnvironment(), TestKinds)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n")+1 != c.lines || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMistakesInALargeFile: many texts with one quote, such as inches, do not hide the line
// that lacks one, and the work grows with the file's size and not with its square.
// AllocsPerRun wants no other test beside it.
func TestMistakesInALargeFile(t *testing.T) {
	fails := func(lines int, last, want string) func() {
		text := strings.Repeat("- 5\" wide\n", lines) + last
		return func() {
			if _, err := Load("f.yaml", []byte(text), testEnvironment(), TestKinds); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d lines: %v", lines, err)
			}
		}
	}
	fails(2000, "- \"open\n- 5\" wide\n", "f.yaml:2001:3: not YAML: the quote that opens here is not closed")()
	small := testing.AllocsPerRun(1, fails(200, "- {\n", "f.yaml:20"))
	large := testing.AllocsPerRun(1, fails(2000, "- {\n", "f.yaml:200"))
	if large > 30*small {
		t.Errorf("200 lines take %.0f allocations, 2,000 lines %.0f", small, large)
	}
}
