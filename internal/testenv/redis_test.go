package testenv_test

import (
	"context"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

func TestMain(m *testing.M) { testmain.Main(m) }

func TestRedisKeepsItsDataOverAKill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r, err := testenv.StartRedis(ctx, t.TempDir(), "--appendfsync", "always")
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
