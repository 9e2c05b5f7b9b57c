package dir_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

// TestDirLinks: a symbolic link below the root, of a file or of a folder, leads nowhere: nothing
// that it points to is read, written, listed or removed, within the root or outside.
func TestDirLinks(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"outside", "inside"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			p := openDirAt(t, root)
			d := p.Sink.(*dir.Sink)
			target := t.TempDir()
			if where == "inside" {
				target = filepath.Join(root, "target")
			}
			secret := filepath.Join(target, "secret")
			if err := errors.Join(
				os.MkdirAll(filepath.Join(target, ".tmp"), 0o700), os.MkdirAll(filepath.Join(root, "real"), 0o700),
				os.WriteFile(secret, []byte("secret"), 0o600), os.WriteFile(filepath.Join(target, "1111-1.csv"), []byte("secret"), 0o600),
				os.WriteFile(filepath.Join(target, ".tmp/1111-1.csv.0123456789abcdef.tmp"), nil, 0o600),
				os.Symlink(target, filepath.Join(root, "linked")), os.Symlink(secret, filepath.Join(root, "real/1-1.csv")),
				os.Symlink(filepath.Join(target, ".tmp"), filepath.Join(root, "real/.tmp")),
			); err != nil {
				t.Fatal(err)
			}
			before := files(t, target)
			for _, name := range []string{"real/1-1.csv", "linked/1111-1.csv"} {
				if f, err := d.Open(t.Context(), name); err == nil {
					t.Errorf("%s is read", name)
					_ = f.Close()
				} else if !errors.Is(err, sink.ErrRefused) || !strings.Contains(err.Error(), "symbolic link") {
					t.Error(err)
				}
				if path, err := d.Path(name); err == nil {
					t.Errorf("%s has the path %s", name, path)
				}
				if err := d.Remove(t.Context(), name); !errors.Is(err, sink.ErrRefused) {
					t.Errorf("Remove(%s) = %v", name, err)
				}
			}
			for _, name := range []string{"linked/2-1.csv", "linked/deeper/2-1.csv", "real/2-1.csv"} { // the last one has a linked .tmp
				if w, err := d.Create(t.Context(), sink.Object{Name: name}); err == nil {
					t.Errorf("%s is written", name)
					w.Abort()
				} else if !errors.Is(err, sink.ErrRefused) || !strings.Contains(err.Error(), "symbolic link") {
					t.Error(err)
				}
			}
			for _, prefix := range []string{"", "linked/1111-", "real/"} {
				for f, err := range d.List(t.Context(), prefix) {
					if strings.HasPrefix(f.Name, "linked") || strings.HasPrefix(f.Name, "real") || err != nil && !errors.Is(err, sink.ErrRefused) {
						t.Errorf("List(%q) = %+v, %v", prefix, f, err)
					}
				}
			}
			if after := files(t, target); !slices.Equal(after, before) {
				t.Errorf("the target of the links has %q, not %q", after, before)
			}
			if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" {
				t.Errorf("%q %v", text, err)
			}
		})
	}
}

// TestDirLinkedRoot: the root itself may be a link, which only its owner can set.
func TestDirLinkedRoot(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Symlink(t.TempDir(), root); err != nil {
		t.Fatal(err)
	}
	p := openDirAt(t, root)
	if _, err := begin(t.Context(), t, p.Sink, name, "contents").Commit(); err != nil {
		t.Fatal(err)
	}
	if got := string(p.Read(t, name)); got != "contents" {
		t.Errorf("%q", got)
	}
}
