package decode

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReadFile: only regular files up to 1 MB are read; nothing else can hang.
func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, size := range map[string]int{"most": maxFile, "more": maxFile + 1} {
		if err := os.WriteFile(path(name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(path("most"), path("link")), syscall.Mkfifo(path("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		path("most"): nil, path("link"): nil, path("more"): errTooLarge, path("pipe"): errNotRegular, dir: errNotRegular,
		"/dev/zero": errNotRegular, path("missing"): os.ErrNotExist,
	} {
		if data, err := ReadFile(name); !errors.Is(err, want) || want == nil && len(data) != maxFile {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}
