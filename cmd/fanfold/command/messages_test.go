package command

import (
	"os"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestMessages: an error says what is wrong, where, and how to correct it.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow, `timers: {beep: {key: "beep-{x}", append: {stream: messages, fields: {x: "{x}"}}}}`)
	id := s.Records.Insert("slow", "")
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	edited := func(name, old, text2 string) string {
		t.Helper()
		if !strings.Contains(string(text), old) {
			t.Fatalf("no %q in %s", old, text)
		}
		file := s.Dir + "/" + name
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, text2)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	login := edited("login.yaml", "root@", "nobody:topsecret@")
	empty := edited("empty.yaml", "records: {", "records: {table: not_migrated, ")
	open := edited("open.yaml", "records: {", "admin: 0.0.0.0:0\nrecords: {")
	public := edited("public.yaml", "records: {", "admin: {listen: 203.0.113.7:1, public: true}\nrecords: {")
	_, mysqlPort, _ := strings.Cut(s.Config.Databases["db"].DSN.Reveal(), "tcp(")
	mysqlPort, _, _ = strings.Cut(mysqlPort, ")")
	wrongServer := edited("server.yaml", s.Server.Addr, mysqlPort)
	for _, c := range []struct {
		code int
		args string
		want string
		not  string
	}{
		{exitFailure, "list -c " + empty, "Table not_migrated does not exist in database db: create it with fanfold migrate", ""},
		{exitUnreachable, "list -c " + login, "Database db refuses the login: correct databases.db", "topsecret"},
		{exitUnreachable, "migrate -c " + login, "Database db refuses the login: correct databases.db", "topsecret"},
		{exitUnreachable, "serve -c " + login, "Database db refuses the login: correct databases.db", "topsecret"},
		{exitNotFound, "status 9999", "no such record: 9999 is not in table file_download_record of database db", ""},
		{exitUsage, "list --status foo", "not one of PENDING, PROCESSING", ""},
		{exitUsage, "version --log-level foo", "not one of debug, info, warn or error", "slog"},
		{exitUsage, "submit " + id + " --in soon", "90s, 10m, 24h, 1d or 1w", "time:"},
		{exitUsage, "submit " + id + " --at 2020-01-01T00:00:00Z", "is in the past", ""},
		{exitUsage, "timer set beep-1 --at 2020-01-01T00:00:00Z", "is in the past", ""},
		{exitOK, "submit " + id + " --in 1d", "in 24h", ""},
		{exitOK, "submit " + id + " --in 1w2d3h", "in 219h", ""},
		{exitOK, "retry --all --dry-run --match zzz", "would be pushed again", ""},
		{exitUsage, "serve -c " + open, "admin: {public: true}", ""},
		{exitUsage, "serve -c " + public, "cannot listen on 203.0.113.7:1", ""},
		{exitUsage, "serve --admin 203.0.113.7:1", "cannot listen on 203.0.113.7:1", ""},
		{exitFailure, "status " + id + " -c " + wrongServer, "is not a Redis server", ""},
	} {
		if out, code := s.fanfold(strings.Fields(c.args)...); code != c.code || !strings.Contains(out, c.want) || c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("fanfold %s: %d, not %d with %q:\n%s", c.args, code, c.code, c.want, out)
		}
	}
}

// TestSubmitIntoAPipe: submit --wait shows the progress of the listeners in a pipe, too.
func TestSubmitIntoAPipe(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.Serve(s.File)
	id := s.Records.Insert("slow", "")
	if out, code := s.fanfold("submit", id, "--wait"); code != exitOK || !inOrder(out, id+" one done, 1 row", id+" SUCCESS", "FILE (ERROR)") {
		t.Errorf("%d %s", code, out)
	}
}
