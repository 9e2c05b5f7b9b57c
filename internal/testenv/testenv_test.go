package testenv

import (
	"context"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestRedisKeepsItsDataOverAKill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r, err := StartRedis(ctx, t.TempDir(), "--appendfsync", "always")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { r.Stop() }()
	c := r.Client()
	defer c.Close()
	if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r.Kill()
	if err := c.Get(ctx, "k").Err(); err == nil {
		t.Fatal("a killed server answered")
	}
	if err := r.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(ctx, "k").Result(); err != nil || got != "v" {
		t.Fatalf("after the restart: %q, %v", got, err)
	}
	if got := c.ConfigGet(ctx, "notify-keyspace-events").Val()["notify-keyspace-events"]; got == "" {
		t.Error("the server does not run with the project's redis.conf")
	}
}

func TestSchemasAreApart(t *testing.T) {
	t.Parallel()
	a, dbA := Schema(t)
	b, dbB := Schema(t)
	if a == b {
		t.Fatalf("both schemas are named %s", a)
	}
	for _, db := range []interface {
		PingContext(context.Context) error
	}{dbA, dbB} {
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dbA.Exec("CREATE TABLE x (i INT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := dbB.Exec("SELECT * FROM x"); err == nil {
		t.Error("schema b sees the table of schema a")
	}
}
