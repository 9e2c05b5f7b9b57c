package note

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action/actiontest"
)

// TestAction is what every action does.
func TestAction(t *testing.T) {
	t.Parallel()
	actiontest.Run(t, Kind, func(t *testing.T) actiontest.Fixture {
		own := &Fields{File: filepath.Join(t.TempDir(), "notes"), Text: report.NewTemplate("hello {user}")}
		return actiontest.Fixture{
			Own: own,
			IDs: func(t *testing.T) []string {
				text, err := os.ReadFile(own.File)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			},
			Away:         func(t *testing.T) { own.File = t.TempDir() }, // a folder cannot be written to
			OutageIsATry: true,
			Refuse:       func(*testing.T) { own.File = filepath.Join(own.File, "missing", "notes") },
		}
	})
}
