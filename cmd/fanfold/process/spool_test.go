package process

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestSpoolOfRoles: the first role that needs the spool makes its directory, and all share it.
func TestSpoolOfRoles(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "not", "yet")
	p := open(t, "spool: {url: \"file://"+folder+"\", above: 4KB}")
	for _, role := range []string{"scheduler", "listeners", "engine"} {
		before := p.spool
		if _, err := p.Role(t.Context(), role, "c", slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(role, err)
		}
		if (p.spool == nil) != (role == "scheduler") || before != nil && p.spool != before {
			t.Errorf("after %s: %v", role, p.spool)
		}
	}
	if _, err := os.Stat(folder); err != nil || p.spool.Above() != 4<<10 {
		t.Errorf("%v, above %d", err, p.spool.Above())
	}
	without := open(t, "")
	if _, err := without.Role(t.Context(), "listeners", "c", slog.New(slog.DiscardHandler)); err != nil || without.spool != nil {
		t.Errorf("%v %v", err, without.spool)
	}
}

// TestSpoolThatCannotBeMade: the process does not start.
func TestSpoolThatCannotBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, "spool: file://"+file)
	if _, err := p.Role(t.Context(), "listeners", "c", slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "spool: "+file+" is not a directory") {
		t.Error(err)
	}
}

// TestSpoolWithoutTables: the segments of ended jobs stay, and the log says why.
func TestSpoolWithoutTables(t *testing.T) {
	t.Parallel()
	schema, _ := testmain.Schema(t)
	p := openOn(t, schema, testmain.Name(t), "spool: file://"+t.TempDir())
	log := &testmain.Log{}
	if s, err := p.Spool(t.Context(), slog.New(slog.NewTextHandler(log, nil))); err != nil || s == nil {
		t.Fatal(err)
	}
	if lines := log.Lines("fanfold migrate"); len(lines) != 1 {
		t.Error(lines)
	}
}
