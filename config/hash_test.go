package config

import (
	"regexp"
	"strings"
	"testing"
)

func TestHash(t *testing.T) {
	t.Parallel()
	load := func(file string) string {
		t.Helper()
		c, err := Load("f.yaml", []byte(file), testEnvironment())
		if err != nil {
			t.Fatal(err)
		}
		return c.Reports["orders"].Hash()
	}
	const form = `^[0-9a-f]{12}$`
	hash := load(base)
	if !regexp.MustCompile(form).MatchString(hash) {
		t.Fatalf("%q is not %s", hash, form)
	}
	// A new hash leaves running jobs to the processes of before: it must not
	// change by accident.
	if was := "286101eef911"; hash != was {
		t.Errorf("the hash of base is %s, was %s", hash, was)
	}
	for _, c := range []struct {
		name, old, new string
		same           bool
	}{
		{"a comment and the place", "reports:", "# x\n\nreports:", true},
		{"the report's timeout", "timeout: 2h", "timeout: 3h", true},
		{"the report's retries", "timeout: 2h", "retry: {retries: 2, delay: 1s, backoff: exponential, max_delay: 2s}", true},
		{"a listener's retries", "{name: shop.items, database", "{name: shop.items, retry: 0, database", true},
		{"limits", "tasks: ", "stop: 1s, memory: 50, job_bytes: 1MB, fold_bytes: 1MB, rebuild: 1, tasks: ", true},
		{"a listener's timeout", "{name: shop.items, database", "{name: shop.items, timeout: 1s, database", true},
		{"the names in Redis", "reports:", "keys: {prefix: \"f:\", hash: r-}\nreports:", true},
		{"the database's host", "db:3306", "other:3306", true},
		{"a parameter's type", "since: date", "since: datetime", false},
		{"a parameter's default", "since: date", "since: {type: date, default: 2024-01-01}", false},
		{"a query", "FROM items", "FROM  items", false},
		{"columns", "shop.orders.id)\"}", "shop.orders.id)\", columns: [id, item2]}", false},
		{"the type of a join", "type: left", "type: full", false},
		{"fold_case", "key: id\n", "key: id\n      fold_case: true\n", false},
		{"full folding", "key: id\n", "key: id\n      fold_case: full\n", false},
		{"no folding", "key: id\n", "key: id\n      fold_case: false\n", true},
		{"a policy that is the default", "{name: shop.users, database", "{name: shop.users, on_failure: required, database", true},
		{"a policy", "{name: shop.users, database", "{name: shop.users, on_failure: optional, database", false},
		{"a policy with defaults", "{name: shop.items, database", "{name: shop.items, on_failure: {default: {item: none}}, database", false},
		{"a label", "label: Item", "label: item", false},
		{"options of the file as they are without", "    csv:\n", "    csv:\n      bom: false\n      delimiter: \",\"\n      line_end: crlf\n      compress: off\n      formulas: off\n", true},
		{"a byte order mark", "    csv:\n", "    csv:\n      bom: true\n", false},
		{"the delimiter", "    csv:\n", "    csv:\n      delimiter: \";\"\n", false},
		{"line ends", "    csv:\n", "    csv:\n      line_end: lf\n", false},
		{"an empty text for NULL", "    csv:\n", "    csv:\n      null: \"\"\n", false},
		{"the time zone of the file", "    csv:\n", "    csv:\n      time_zone: Europe/Berlin\n", false},
		{"the zone of the database", "/app\"}", "/app\", time_zone: Europe/Berlin}", false},
		{"UTC as the zone of the database", "/app\"}", "/app\", time_zone: UTC}", true},
		{"the form of dates", "    csv:\n", "    csv:\n      date: DD.MM.YYYY\n", false},
		{"formulas", "    csv:\n", "    csv:\n      formulas: escape\n", false},
		{"the compression of the file", "    csv:\n", "    csv:\n      compress: gzip\n", false},
		{"what a file may have", "    csv:\n", "    csv:\n      max_rows: 10\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			edited := strings.Replace(base, c.old, c.new, 1)
			if c.name == "columns" {
				edited = strings.Replace(edited, "shop.items.item,", "shop.items.item2,", 1)
			}
			if got := load(edited); (got == hash) != c.same {
				t.Errorf("hash %s, of base %s", got, hash)
			}
		})
	}
}
