package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

func task(file, columns string) listeners.Task {
	return listeners.Task{ID: "1", Attempt: 1, Listener: &report.Listener{
		Name: "l", Columns: strings.Fields(columns), Own: &Fields{File: file},
	}}
}

// TestSource is what every source does.
func TestSource(t *testing.T) {
	t.Parallel()
	listenertest.Test(t, func(t *testing.T) listenertest.Fixture {
		dir := t.TempDir()
		return listenertest.Fixture{
			Source: Folder(dir),
			Rows: func(t *testing.T, n int) listeners.Task {
				var text strings.Builder
				text.WriteString("n,nothing\n")
				for i := range n {
					fmt.Fprintf(&text, "%d,\n", i+1)
				}
				name := fmt.Sprintf("rows%d.csv", n)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return task(name, "n nothing")
			},
			Wrong: func(*testing.T) listeners.Task { return task("missing.csv", "n") },
			Away: func(*testing.T) (listeners.Source, listeners.Task) {
				return Folder(filepath.Join(dir, "missing")), task("rows.csv", "n")
			},
		}
	})
}

// TestKind is what every kind of database does.
func TestKind(t *testing.T) {
	t.Parallel()
	listenertest.TestKind(t, Kind, listenertest.Names{
		Valid: []string{"folder:///data", "folder:///data/" + listenertest.Password},
		Wrong: []string{"folder://data", "folder:", "file:///" + listenertest.Password},
	})
}
