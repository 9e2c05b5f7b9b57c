package e2e

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// Forms of Redis, and the variable that selects one for New.
const (
	FormVariable = "FANFOLD_TEST_ON"

	Alone    = "alone"
	Sentinel = "sentinel"
	Cluster  = "cluster"
)

// New starts a stack. reports is the YAML below "reports:", in which {schema} stands for the name of the
// schema; the database is named db. more goes above it, such as limits; its section databases replaces
// the default one, with {dsn} for the DSN.
func New(t testing.TB, reports string, more ...string) *Stack {
	t.Helper()
	switch form := cmp.Or(os.Getenv(FormVariable), Alone); form {
	case Alone:
		return NewAlone(t, nil, reports, more...)
	case Sentinel:
		s, _ := NewOnSentinels(t, reports, more...)
		return s
	case Cluster:
		s, _ := NewOnCluster(t, 1, reports, more...)
		return s
	default:
		t.Fatalf("%s is %q, and not one of %s, %s and %s", FormVariable, form, Alone, Sentinel, Cluster)
		return nil
	}
}

// InPostgres creates a database, and returns what goes above the reports for records there. SQL of Records is then that
// of PostgreSQL; db is the database of MySQL.
func InPostgres(t testing.TB) (above string) {
	t.Helper()
	dsn := testmain.SharedPostgres(t).DSN(testmain.PostgresDatabase(t))
	return fmt.Sprintf("\ndatabases: {db: {dsn: \"{dsn}\"}, records: {dsn: %q}}\nrecords: {database: records}", dsn)
}

// NewAlone is New on a single server in any case, for tests that stop the server or change its settings.
func NewAlone(t testing.TB, settings []string, reports string, more ...string) *Stack {
	t.Helper()
	return NewAloneIn(t, 1, settings, reports, more...)
}

// NewAloneIn is NewAlone with a number of partitions.
func NewAloneIn(t testing.TB, partitions int, settings []string, reports string, more ...string) *Stack {
	t.Helper()
	server, err := testenv.StartRedis(t.Context(), t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	s := &Stack{TB: t, Dir: t.TempDir(), Server: Server{Redis: server}, CLI: CLIOptions(server)}
	s.Where = func(partitions int) string { return WhereAlone(server.Addr, partitions) }
	s.begin(partitions, reports, more...)
	return s
}

// NewOnSentinels is New on a master with two replicas and three Sentinels.
func NewOnSentinels(t testing.TB, reports string, more ...string) (*Stack, *testenv.Sentinels) {
	t.Helper()
	set, err := testenv.StartSentinels(t.Context(), t.TempDir(), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	s := &Stack{TB: t, Dir: t.TempDir(), CLI: CLIOptions(set.Servers[0])}
	s.Where = func(partitions int) string { return WhereSentinels(set, partitions) }
	s.begin(1, reports, more...)
	return s, set
}

// NewOnCluster is New on three masters with a replica each.
func NewOnCluster(t testing.TB, partitions int, reports string, more ...string) (*Stack, *testenv.Cluster) {
	t.Helper()
	cluster, err := testenv.StartCluster(t.Context(), t.TempDir(), 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	s := &Stack{TB: t, Dir: t.TempDir(), CLI: "-c " + CLIOptions(cluster.Servers[0])}
	s.Where = func(partitions int) string { return WhereCluster(cluster, partitions) }
	s.begin(partitions, reports, more...)
	return s, cluster
}

// NewBehind is New on a cluster that the test started, with connections through where.
func NewBehind(t testing.TB, where func(partitions int) string, partitions int, reports string, more ...string) *Stack {
	t.Helper()
	s := &Stack{TB: t, Dir: t.TempDir(), Where: where}
	s.begin(partitions, reports, more...)
	return s
}

// CLIOptions returns the options with which redis-cli reaches a server.
func CLIOptions(server *testenv.Redis) string {
	_, port, _ := strings.Cut(server.Addr, ":")
	return "-p " + port
}

// Values of redis in a configuration.

// WhereAlone is that of a single server.
func WhereAlone(address string, partitions int) string {
	return fmt.Sprintf("{url: \"redis://%s/0\", partitions: %d}", address, partitions)
}

// WhereSentinels is that of a server behind Sentinels.
func WhereSentinels(set *testenv.Sentinels, partitions int) string {
	return fmt.Sprintf("{sentinel: {master: %s, addresses: [%s]}, partitions: %d}",
		set.Master, strings.Join(set.Addresses, ", "), partitions)
}

// WhereCluster is that of a cluster.
func WhereCluster(cluster *testenv.Cluster, partitions int) string {
	return fmt.Sprintf("{cluster: [%s], partitions: %d}", strings.Join(cluster.Addresses(), ", "), partitions)
}
