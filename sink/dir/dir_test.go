package dir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/sink/sinktest"
)

func openDir(t *testing.T) sinktest.Place { return openDirAt(t, t.TempDir()) }

func openDirAt(t testing.TB, root string) sinktest.Place {
	t.Helper()
	d, err := dir.New(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Make(); err != nil {
		t.Fatal(err)
	}
	return sinktest.Place{
		Sink: d,
		List: func(t *testing.T) []string { return files(t, root) },
		Read: func(t *testing.T, name string) []byte {
			data, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			return data
		},
	}
}

// files returns all that is no folder below root.
func files(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDir(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, dir.Kind, openDir)
}

// What is watched behaves as the sink itself.
func TestWatchedDir(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, dir.Kind, func(t *testing.T) sinktest.Place {
		place := openDir(t)
		place.Sink = sink.Watch(place.Sink)
		return place
	})
}

// A folder whose name needs escaping in a URL.
func TestDirAtOddRoot(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, dir.Kind, func(t *testing.T) sinktest.Place {
		return openDirAt(t, filepath.Join(t.TempDir(), "täglich 100%/a?b#c"))
	})
}

const name = "withdrawals/1111-1.csv"

func begin(ctx context.Context, t testing.TB, s sink.Sink, name, contents string) sink.Writer {
	t.Helper()
	w, err := s.Create(ctx, sink.Object{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Abort)
	if _, err := fmt.Fprint(w, contents); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestNewDir(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "a/b/c")
	p := openDirAt(t, root+"/")
	if err := p.Sink.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := p.Sink.URL("x.csv"), "file://"+root+"/x.csv"; got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	for _, bad := range []string{"", "relative", "./relative"} {
		if _, err := dir.New(bad); err == nil {
			t.Errorf("NewDir(%q) is no error", bad)
		}
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, file + "/below"} {
		if d, err := dir.New(bad); err != nil || d.Make() == nil {
			t.Errorf("%q can be made: %v", bad, err)
		}
	}
}

// While it is written, the file lies in a hidden folder beside its place; and
// what a killed process left is taken for nothing else.
func TestDirTemporaryFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := openDirAt(t, root)
	begin(t.Context(), t, p.Sink, name, "half")
	left := files(t, root)
	if len(left) != 1 || !strings.HasPrefix(left[0], "withdrawals/.tmp/1111-1.csv.") || !strings.HasSuffix(left[0], ".tmp") {
		t.Fatalf("while writing the place has %q", left)
	}
	similar := []string{
		"withdrawals/.tmp/1111-1.csv.tmp", "withdrawals/.tmp/1111-1.csv.0123.tmp", "withdrawals/.tmp/1111-1.csv.0123456789abcdef",
		"withdrawals/.tmp/1111-1.csv.xyzxyzxyzxyzxyzx.tmp", "withdrawals/.tmp/1111-1.csv.gz.0123456789abcdef.tmp",
		"withdrawals/.tmp/1111-1.csvx0123456789abcdef.tmp", "withdrawals/1111-1.csv.0123456789abcdef.tmp",
	}
	for _, s := range similar {
		if err := os.WriteFile(filepath.Join(root, s), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Sink.Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	slices.Sort(similar)
	if got := files(t, root); !slices.Equal(got, similar) {
		t.Fatalf("after Remove the place has %q, want %q", got, similar)
	}
}

// A process that was thought dead must not bring back what was removed.
func TestDirRemoveStopsWriter(t *testing.T) {
	t.Parallel()
	p := openDir(t)
	for _, what := range []string{"the object", "the temporary file"} {
		w := begin(t.Context(), t, p.Sink, name, "contents")
		removed := name
		if what != "the object" {
			removed = p.List(t)[0]
		}
		if err := p.Sink.Remove(t.Context(), removed); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("Commit after Remove of %s = %v, want ErrNotExist", what, err)
		}
		if got := p.List(t); len(got) != 0 {
			t.Fatalf("after Remove of %s and Commit the place has %q", what, got)
		}
	}
}

// The end of ctx is enough; nobody has to call Abort.
func TestDirCancelRemovesTemporaryFile(t *testing.T) {
	t.Parallel()
	p := openDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	begin(ctx, t, p.Sink, name, "contents")
	if got := p.List(t); len(got) != 1 {
		t.Fatalf("while writing the place has %q", got)
	}
	cancel()
	deadline := time.After(10 * time.Second)
	for tick := time.NewTicker(time.Millisecond); len(p.List(t)) != 0; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after cancel the place has %q", p.List(t))
		}
	}
}

// What is there and is no regular file is another object, and is not opened: a
// FIFO would block.
func TestDirIrregular(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := openDirAt(t, root)
	target := filepath.Join(root, "target")
	// The size that a link to it has, so that nothing but its kind tells.
	contents := strings.Repeat("x", len(target))
	if err := os.WriteFile(target, []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, contents string
		make           func(path string) error
	}{
		{"folder", contents, func(path string) error { return os.Mkdir(path, 0o700) }},
		{"link", contents, func(path string) error { return os.Symlink(target, path) }},
		{"fifo", "", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
	} {
		if err := test.make(filepath.Join(root, test.name)); err != nil {
			t.Fatal(err)
		}
		w := begin(t.Context(), t, p.Sink, test.name, test.contents)
		if _, err := w.Commit(); !errors.Is(err, sink.ErrConflict) {
			t.Errorf("Commit over a %s = %v, want ErrConflict", test.name, err)
		}
	}
}

// A root that goes away is a mount that went away: nothing is written into the
// hole.
func TestDirRootGone(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "mount")
	p := openDirAt(t, root)
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.csv", name} {
		if _, err := p.Sink.Create(t.Context(), sink.Object{Name: name}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Create(%q) = %v, want ErrNotExist", name, err)
		}
	}
	if err := p.Sink.Check(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Check = %v, want ErrNotExist", err)
	}
	if err := p.Sink.Remove(t.Context(), name); err != nil {
		t.Errorf("Remove = %v", err)
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the root was made again: %v", err)
	}
}

// A folder that is a file cannot be written into, whoever runs the test.
func TestDirUnwritable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := openDirAt(t, root)
	if err := os.WriteFile(filepath.Join(root, "withdrawals"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Sink.Create(t.Context(), sink.Object{Name: name}); err == nil {
		t.Error("Create below a file is no error")
	}
	if err := p.Sink.Remove(t.Context(), name); err != nil {
		t.Errorf("Remove below a file = %v", err)
	}
	if os.Geteuid() == 0 {
		// Modes do not bind root; what it cannot write into either is /proc.
		root = "/proc/self"
	} else if err := os.Chmod(root, 0o500); err != nil {
		t.Fatal(err)
	}
	p = openDirAt(t, root)
	if err := p.Sink.Check(t.Context()); err == nil || !strings.Contains(err.Error(), root) {
		t.Errorf("Check = %v, want an error that names the directory", err)
	}
}

// A failed write is never committed, since the file would be cut off.
func TestDirFailedWrite(t *testing.T) {
	t.Parallel()
	p := openDir(t)
	w, breaks := dir.Breakable(t, p.Sink.(*dir.Sink), name)
	if _, err := w.Write([]byte("contents")); err != nil {
		t.Fatal(err)
	}
	breaks()
	if _, err := w.Write([]byte("more")); err == nil {
		t.Fatal("Write to a broken file is no error")
	}
	if _, err := w.Commit(); err == nil {
		t.Fatal("Commit after a failed Write is no error")
	}
	if got := p.List(t); len(got) != 0 {
		t.Fatalf("the place has %q", got)
	}
}
