package config

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// TestProtect: how busy a database may be, its replica, and what they refuse.
func TestProtect(t *testing.T) {
	t.Parallel()
	load := func(database, listener string) (*Config, error) {
		return Load("f.yaml", []byte(`
redis: redis://127.0.0.1:6379/0
databases: {shop: {dsn: "u@tcp(db)/app"`+database+`}}
records: {database: shop}
sink: file:///tmp/x
reports: {r: {listeners: {a: {database: shop, query: SELECT id FROM t`+listener+`}}}}
`), testEnvironment(), TestKinds)
	}
	const replica, limits = `, max_connections: 3, replica: "u@tcp(beside)/app"`, ", protect: {threads_running: 40, replica_lag: 5s, statement_p95: 2s}"
	c, err := load(replica+limits, ", read_from: replica")
	if err != nil {
		t.Fatal(err)
	}
	all := report.Protect{ThreadsRunning: 40, ReplicaLag: 5 * time.Second, StatementP95: 2 * time.Second}
	if of := c.Sources["shop.replica"]; of.Protect != all || of.MaxTasks != 3 || !of.Timed {
		t.Errorf("of the replica: %+v", of)
	}
	primary := all
	primary.ReplicaLag = 0
	if of := c.Sources["shop"]; of.Protect != primary {
		t.Errorf("of the primary: %+v", of)
	}
	if l := c.Reports["r"].Stages[0].Listeners[0]; l.Source != "shop.replica" {
		t.Errorf("it reads %s", l.Source)
	}
	servers := c.Databases["shop"].Servers()
	if len(servers) != 2 || servers[0].DSN.Reveal() != "u@tcp(db)/app" || servers[1].DSN.Reveal() != "u@tcp(beside)/app" {
		t.Errorf("%d servers", len(servers))
	}
	alone, err := load(", protect: {replica_lag: 5s}", "")
	if err != nil {
		t.Fatal(err)
	}
	if of := alone.Protections()["shop"]; of.ReplicaLag != 5*time.Second {
		t.Errorf("of a database that is a replica: %+v", of)
	}
	// A job continues when its listener reads another server.
	if one, other := c.Reports["r"].Hash(), alone.Reports["r"].Hash(); one != other {
		t.Errorf("the hashes are %s and %s", one, other)
	}

	for _, c := range []struct{ name, database, listener, want string }{
		{"no limit", ", protect: {}", "", "f.yaml:3:42: databases.shop.protect: no limit. Add threads_running, replica_lag or statement_p95, or remove protect"},
		{"an unknown limit", ", protect: {threads: 4}", "", `databases.shop.protect.threads: unknown field. Did you mean "threads_running"?`},
		{"a limit of none", ", protect: {threads_running: 0}", "", "databases.shop.protect.threads_running: not a whole number from 1 to 1000000"},
		{"a lag that is too short", ", protect: {replica_lag: 10ms}", "", "databases.shop.protect.replica_lag: "},
		{"no replica", limits, ", read_from: replica", "f.yaml:6:83: reports.r.listeners.a.read_from: database shop has no replica (value \"replica\"). Add replica to databases.shop, with the DSN of the replica, and protect: {replica_lag: 30s}"},
		{"another server", limits, ", read_from: primry", "reports.r.listeners.a.read_from: neither primary nor replica"},
		{"no limit of its lag", replica, "", "f.yaml:3:71: databases.shop.replica: nothing limits how far the replica may be behind. Add protect: {replica_lag: 30s}"},
		{"only other limits", replica + ", protect: {threads_running: 4}", "", "databases.shop.replica: nothing limits how far the replica may be behind"},
		{"the database itself", `, replica: "u@tcp(db)/app"` + limits, "", "databases.shop.replica: it has the DSN of the database. Write the DSN of the replica, or remove it"},
		{"not a DSN", `, replica: "u:s3cret@tcp("` + limits, "", "databases.shop.replica: not a DSN"},
		{"another kind", `, replica: "postgres://u@beside/app"` + limits, "", "databases.shop.replica: the replica is of kind postgres, and the database of kind mysql. Write the DSN of a replica of the database: user@tcp(host:port)/schema"},
	} {
		_, err := load(c.database, c.listener)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestPasswordOfAReplica: a replica without a password has that of the database's file.
func TestPasswordOfAReplica(t *testing.T) {
	t.Parallel()
	env := testEnvironment()
	env.ReadFile = func(string) ([]byte, error) { return []byte("s3cret\n"), nil }
	for replica, want := range map[string]string{"u@tcp(beside)/app": "u:s3cret@tcp(beside)/app", "u:own@tcp(beside)/app": "u:own@tcp(beside)/app"} {
		c, err := Load("f.yaml", []byte(`
redis: redis://127.0.0.1:6379/0
databases: {shop: {dsn: "u@tcp(db)/app", password_file: p, replica: "`+replica+`", protect: {replica_lag: 5s}}}
records: {database: shop}
sink: file:///tmp/x
reports: {r: {listeners: {a: {database: shop, query: SELECT id FROM t}}}}
`), env, TestKinds)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Databases["shop"].Replica.Reveal(); got != want {
			t.Errorf("%s", got)
		}
	}
}
