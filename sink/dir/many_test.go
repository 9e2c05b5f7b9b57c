package dir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/sinktest"
)

// A job in a folder of many objects costs no more than in one of few: it does not
// list the folder.
// What listing it would cost is counted in allocations, a few for each file;
// AllocsPerRun wants no other test beside it.
func TestDirOfManyFiles(t *testing.T) {
	cost := func(files int) float64 {
		p := dirWith(t, files)
		return testing.AllocsPerRun(5, func() { lifetime(t, p.Sink) })
	}
	few, many := cost(10), cost(20_000)
	if many > few+1000 {
		t.Errorf("a job costs %v allocations in a folder of 20,000 files, %v in one of 10", many, few)
	}
}

func BenchmarkDir(b *testing.B) {
	for _, files := range []int{10, 20_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			p := dirWith(b, files)
			for b.Loop() {
				lifetime(b, p.Sink)
			}
		})
	}
}

// dirWith is a directory with so many objects beside that of name.
func dirWith(t testing.TB, files int) sinktest.Place {
	t.Helper()
	root := t.TempDir()
	p := openDirAt(t, root)
	folder := filepath.Join(root, filepath.Dir(name))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		if err := os.WriteFile(fmt.Sprintf("%s/%d.csv", folder, i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// lifetime does to an object all that can be done to one.
func lifetime(t testing.TB, s sink.Sink) {
	t.Helper()
	for _, adopted := range []bool{false, true} {
		w := begin(t.Context(), t, s, name, "contents")
		if c, err := w.Commit(); err != nil || c.Adopted != adopted {
			t.Fatalf("Commit = %+v, %v", c, err)
		}
	}
	if err := s.Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}
