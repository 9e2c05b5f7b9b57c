package config

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The rows of the table in docs/reference/configuration.md.
const (
	rowParameters = "`parameters`: types, `list`, `default`"
	rowListeners  = "its listeners: names, sources, queries and requests, even by one space, `columns`"
	rowFailure    = "`optional` of a listener, `after`"
	rowJoin       = "`fold`, `join`"
	rowFile       = "`file`: columns, labels and every option, such as `bom` or `max_rows`"
	rowZone       = "`time_zone` of a report or database"
	rowLimits     = "`parameters`: `description`, `options`, `minimum`, `maximum`, `pattern`"
	rowDefault    = "a field that is written out with its default"
	rowTimes      = "`timeout` and `retry`, also those of listeners"
	rowOthers     = "`label`, `notify`, `once`, `keep`, `on_failure`, `on_change`, `deadline_during_pause`, `running`, `class`, `newest_only`, `schedule`, `strict_timeout`"
	rowAround     = "`limits`, `history`, `audit`, `redis_keys`, `protect`, `read_from`, hosts and passwords"
	rowComments   = "comments and the order of sections"
)

func TestHash(t *testing.T) {
	t.Parallel()
	load := func(file string) string {
		t.Helper()
		c, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds)
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
	if was := "cccb2ac79be3"; hash != was {
		t.Errorf("the hash of base is %s, was %s", hash, was)
	}
	changes := definitionTable(t)
	used := map[string]bool{}
	for _, c := range []struct {
		row            string // of the table in the documentation
		name, old, new string
	}{
		{rowComments, "a comment and the place", "reports:", "# x\n\nreports:"},
		{rowTimes, "the report's timeout", "timeout: 2h", "timeout: 3h"},
		{rowTimes, "the report's retries", "timeout: 2h", "retry: {retries: 2, delay: 1s, backoff: exponential, max_delay: 2s}"},
		{rowTimes, "a listener's retries", "shop.items: {database", "shop.items: {retry: 0, database"},
		{rowAround, "limits", "tasks: ", "shutdown_timeout: 1s, redis_memory_percent: 50, job_bytes: 1MB, fold_memory: 1MB, rebuild_per_second: 1, tasks: "},
		{rowTimes, "a listener's timeout", "shop.items: {database", "shop.items: {timeout: 1s, database"},
		{rowAround, "the names in Redis", "reports:", "redis_keys: {prefix: \"f:\", hash: r-}\nreports:"},
		{rowAround, "the retention of histories", "reports:", "history: 1d\nreports:"},
		{rowAround, "the retention of acts", "reports:", "audit: 1d\nreports:"},
		{rowAround, "the database's host", "db:3306", "other:3306"},
		{rowAround, "a replica", "/app\"}", "/app\", replica: \"u@tcp(beside)/app\", protect: {replica_lag: 5s}}"},
		{rowParameters, "a parameter's type", "since: date", "since: datetime"},
		{rowParameters, "a parameter's default", "since: date", "since: {type: date, default: 2024-01-01}"},
		{rowParameters, "a relative default", "since: date", "since: {type: date, default: today-30d}"},
		{rowLimits, "a description", "since: date", "since: {type: date, description: First day}"},
		{rowLimits, "the allowed days", "since: date", "since: {type: date, options: [2024-01-01]}"},
		{rowLimits, "the first and last day", "since: date", "since: {type: date, minimum: 2024-01-01, maximum: 2024-12-31}"},
		{rowZone, "the zone of relative dates", "timeout: 2h", "timeout: 2h\n    time_zone: Europe/Berlin"},
		{rowDefault, "UTC as the zone of relative dates", "timeout: 2h", "timeout: 2h\n    time_zone: UTC"},
		{rowListeners, "a query", "FROM items", "FROM  items"},
		{rowListeners, "columns", "shop.orders.id)\"}", "shop.orders.id)\", columns: [id, item2]}"},
		{rowJoin, "the type of a join", "type: left", "type: full"},
		{rowDefault, "a policy that is the default", "shop.users: {database", "shop.users: {optional: false, database"},
		{rowFailure, "a policy", "shop.users: {database", "shop.users: {optional: true, database"},
		{rowFailure, "a policy with defaults", "shop.items: {database", "shop.items: {optional: {item: none}, database"},
		{rowFile, "a label", "label: Item", "label: item"},
		{rowDefault, "options of the file as they are without", "    file:\n", "    file:\n      line_end: crlf\n      compress: off\n      formulas: escape\n"},
		{rowFile, "the locale", "    file:\n", "    file:\n      locale: de\n"},
		{rowFile, "groups of digits", "    file:\n", "    file:\n      locale: de\n      thousands: true\n"},
		{rowFile, "a byte order mark", "    file:\n", "    file:\n      bom: true\n"},
		{rowFile, "the delimiter", "    file:\n", "    file:\n      delimiter: \";\"\n"},
		{rowFile, "line ends", "    file:\n", "    file:\n      line_end: lf\n"},
		{rowFile, "an empty text for NULL", "    file:\n", "    file:\n      null: \"\"\n"},
		{rowFile, "the time zone of the file", "    file:\n", "    file:\n      time_zone: Europe/Berlin\n"},
		{rowZone, "the zone of the database", "/app\"}", "/app\", time_zone: Europe/Berlin}"},
		{rowDefault, "UTC as the zone of the database", "/app\"}", "/app\", time_zone: UTC}"},
		{rowFile, "the form of dates", "    file:\n", "    file:\n      date: DD.MM.YYYY\n"},
		{rowFile, "formulas", "    file:\n", "    file:\n      formulas: off\n"},
		{rowFile, "the compression of the file", "    file:\n", "    file:\n      compress: gzip\n"},
		{rowFile, "what happens without rows", "    file:\n", "    file:\n      empty: skip\n"},
		{rowFile, "the rows of a file in the archive", "    file:\n", "    file:\n      compress: zip\n      split: {rows: 10}\n"},
		{rowFile, "what a file may have", "    file:\n", "    file:\n      max_rows: 10\n"},
		{rowOthers, "a label of the report", "timeout: 2h", "timeout: 2h\n    label: Orders"},
		{rowOthers, "equal jobs", "timeout: 2h", "timeout: 2h\n    once: {per: [report, parameters]}"},
		{rowOthers, "what a change does", "timeout: 2h", "timeout: 2h\n    on_change: wait"},
		{rowOthers, "older rows", "shop.items: {database", "shop.items: {on_failure: {stale: 1h}, database"},
		{rowOthers, "what is kept", "timeout: 2h", "timeout: 2h\n    keep: 1h"},
		{rowOthers, "the deadline during a pause", "timeout: 2h", "timeout: 2h\n    deadline_during_pause: runs"},
		{rowDefault, "a deadline that waits, as without", "timeout: 2h", "timeout: 2h\n    deadline_during_pause: waits"},
		{rowOthers, "a schedule", "timeout: 2h", "timeout: 2h\n    schedule: [{every: 1d, parameters: {since: today}}]"},
		{rowOthers, "a timeout that is too short", "timeout: 2h", "timeout: 2h\n    strict_timeout: false"},
		{rowDefault, "a query in a file", `query: "SELECT id, name FROM users"`, "query_file: sql/users.sql"},
		{rowListeners, "another query in a file", `query: "SELECT id, name FROM users"`, "query_file: sql/names.sql"},
		{rowListeners, "the name of a listener", "shop.users", "shop.people"},
		{rowAround, "the password", "${USER_DB_PASSWORD}", "another"},
		{rowJoin, "the key of a join", "type: left}", "type: left, key: name}"},
		{rowFile, "most bytes", "    file:\n", "    file:\n      max_bytes: 1MB\n"},
	} {
		used[c.row] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			edited := strings.ReplaceAll(base, c.old, c.new)
			if c.name == "columns" {
				edited = strings.Replace(edited, "shop.items.item,", "shop.items.item2,", 1)
			}
			if got := load(edited); (got == hash) == changes[c.row] {
				t.Errorf("hash %s, of base %s", got, hash)
			}
			sameAgain(t, "f.yaml", edited, testEnvironment())
		})
	}
	for row := range changes {
		if !used[row] {
			t.Errorf("no case shows that the documentation is right: %s", row)
		}
	}
	for row := range used {
		if _, ok := changes[row]; !ok {
			t.Errorf("the documentation has no row %s", row)
		}
	}
}

// definitionTable returns the rows of the table "changes the definition" in the documentation.
func definitionTable(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| of a report | changes the definition |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2 || strings.TrimSpace(cells[1]) != "yes" && strings.TrimSpace(cells[1]) != "no" {
			t.Fatalf("not a row: %q", line)
		}
		rows[strings.TrimSpace(cells[0])] = strings.TrimSpace(cells[1]) == "yes"
	}
	return rows
}

// TestDefinitionTableIsComplete: the table names every field of a report, but listeners, whose fields it
// names.
func TestDefinitionTableIsComplete(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for row := range definitionTable(t) {
		all.WriteString(row + "\n")
	}
	var schema struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(standardSchema, &schema); err != nil {
		t.Fatal(err)
	}
	fields := schema.Defs["config.reportFields"].Properties
	if len(fields) < 10 {
		t.Fatalf("the schema has the fields %v", fields)
	}
	for field := range fields {
		if field != "listeners" && !strings.Contains(all.String(), "`"+field+"`") {
			t.Errorf("the table does not say whether %s changes the definition", field)
		}
	}
}
