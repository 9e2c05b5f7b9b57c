package testenv_test

import (
	"testing"

	"github.com/fanfold/fanfold/internal/testenv"
)

// TestPostgres: a server keeps its files when it stops and when it crashes, and removes them when it is closed.
func TestPostgres(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := testenv.StartPostgres(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Exec(ctx, "postgres", "CREATE DATABASE d"); err != nil {
		t.Fatal(err)
	}
	if err := p.Exec(ctx, "d", "CREATE TABLE x (i int); INSERT INTO x VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(){"Stop": p.Stop, "Kill": p.Kill} {
		end()
		if err := p.Exec(ctx, "d", "SELECT 1"); err == nil {
			t.Errorf("%s: the server still answers", name)
		}
		if err := p.Start(ctx); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.Exec(ctx, "d", "SELECT 1 / count(*) FROM x"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
