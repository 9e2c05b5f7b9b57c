package testenv_test

import (
	"strings"
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
	for name, end := range map[string]func(){"Stop": p.Stop, "Kill": p.Kill} {
		table := strings.ToLower(name)
		if err := p.Exec(ctx, "d", "CREATE TABLE "+table+" (i int); INSERT INTO "+table+" VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		end()
		if err := p.Exec(ctx, "d", "SELECT 1"); err == nil {
			t.Errorf("%s: the server still answers", name)
		}
		if err := p.Start(ctx); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.Exec(ctx, "d", "SELECT 1 / count(*) FROM "+table); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
