package testmain

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/fanfold/fanfold/internal/testenv"
)

// shared are the servers of one test package. Each is started by the first test that needs it.
var shared struct {
	mu       sync.Mutex
	dir      string
	redis    *testenv.Redis
	database *testenv.Database
	postgres *testenv.Postgres
	s3       *testenv.S3
	faults   *faults
	names    atomic.Int64
}

// Main runs a package's tests, stops the shared servers, and fails if goroutines leak, except those
// to ignore. Use it as the whole body of TestMain.
func Main(m *testing.M, ignore ...goleak.Option) {
	if dir, err := os.UserCacheDir(); err == nil {
		testenv.Templates = filepath.Join(dir, "fanfold", "servers")
	}
	code := m.Run()
	stopShared()
	if code == 0 {
		if err := goleak.Find(append(ignore,
			// A dial for a pool ends a second after the pool is closed.
			goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
		)...); err != nil {
			fmt.Fprintln(os.Stderr, "leaked goroutines:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func stopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.redis != nil {
		shared.redis.Stop()
	}
	if shared.database != nil {
		shared.database.Stop()
	}
	if shared.postgres != nil {
		shared.postgres.Close()
	}
	if shared.s3 != nil {
		shared.s3.Stop()
	}
	if shared.faults != nil {
		shared.faults.stop()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
}

// SharedRedis returns the package's redis-server, started on first use.
func SharedRedis(t testing.TB) *testenv.Redis {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.redis == nil {
		r, err := testenv.StartRedis(context.Background(), sharedDir(t, "redis"))
		if err != nil {
			t.Fatal(err)
		}
		shared.redis = r
	}
	return shared.redis
}

// SharedDatabase returns the package's database server, started on first use.
func SharedDatabase(t testing.TB) *testenv.Database {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.database == nil {
		m, err := testenv.StartDatabase(context.Background(), sharedDir(t, "database"))
		if err != nil {
			t.Fatal(err)
		}
		shared.database = m
	}
	return shared.database
}

// SharedS3 returns the package's MinIO server, started on first use; nil: testenv.S3Program names none.
func SharedS3(t testing.TB) *testenv.S3 {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.s3 == nil && os.Getenv(testenv.S3Program) != "" {
		s, err := testenv.StartS3(context.Background(), sharedDir(t, "s3"))
		if err != nil {
			t.Fatal(err)
		}
		shared.s3 = s
	}
	return shared.s3
}

// Schema creates an empty schema with a unique name on the shared server. It returns the name and a
// pool, which is closed when the test ends.
func Schema(t testing.TB) (name string, db *sql.DB) {
	t.Helper()
	m := SharedDatabase(t)
	name = Name(t)
	admin, err := m.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.Exec("CREATE DATABASE `" + name + "`"); err != nil {
		t.Fatal(err)
	}
	db, err = m.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return name, db
}

// Name returns a name that is unique in this process: lower-case letters, digits and underscores,
// for schemas, key prefixes and ids.
func Name(t testing.TB) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, t.Name())
	return fmt.Sprintf("t%d_%.40s", shared.names.Add(1), clean)
}

func sharedDir(t testing.TB, name string) string {
	t.Helper()
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "fanfold-test-")
		if err != nil {
			t.Fatal(err)
		}
		shared.dir = dir
	}
	dir := filepath.Join(shared.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
