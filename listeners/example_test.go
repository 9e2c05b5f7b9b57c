package listeners_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

// Folder is a Source: a folder with a CSV file for each listener. An empty cell is
// null.
type Folder string

var _ listeners.Source = Folder("")

// Read implements listeners.Source.
func (f Folder) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	file, err := os.Open(filepath.Join(string(f), task.Listener.Name+".csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return listeners.Permanent(err) // no try can find it
	} else if err != nil {
		return listeners.Outage(err) // such as a network folder that is away
	}
	defer file.Close()
	rows := csv.NewReader(file)
	header, err := rows.Read()
	if err != nil {
		return listeners.Permanent(fmt.Errorf("%s has no header: %w", file.Name(), err))
	}
	if !slices.Equal(header, task.Listener.Columns) {
		return listeners.Permanent(fmt.Errorf("%s has the columns %q, not %q", file.Name(), header, task.Listener.Columns))
	}
	columns := make([]dataset.Column, len(header))
	for i, name := range header {
		columns[i] = dataset.Column{Name: name, Kind: report.KindText}
	}
	if err := out.Columns(columns); err != nil {
		return err
	}
	for {
		row, err := rows.Read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return listeners.Permanent(err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		for i, cell := range row {
			if cell == "" {
				out.Builder().Null(i)
			} else {
				out.Builder().Text(i, []byte(cell))
			}
		}
		if err := out.EndRow(); err != nil {
			return err
		}
	}
}

// A source of one's own: what it writes, and what it says of a file that is not there.
// Give it to listeners.New in Options.Sources, by the name that its listeners have as
// their Source.
func ExampleSource() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "scores.csv"), []byte("user_id,score\n1,2.50\n2,\n"), 0o600); err != nil {
		panic(err)
	}
	scores := listeners.Task{ID: "1111", Attempt: 1, Listener: &report.Listener{Name: "scores", Columns: []string{"user_id", "score"}}}
	d, err := listenertest.Read(context.Background(), Folder(dir), scores)
	fmt.Println(d.Rows, err)

	other := listeners.Task{ID: "1111", Attempt: 1, Listener: &report.Listener{Name: "other"}}
	_, err = listenertest.Read(context.Background(), Folder(dir), other)
	fmt.Println(errors.Is(err, listeners.ErrPermanent))
	// Output:
	// [["1" "2.50"] ["2" null]] <nil>
	// true
}

// TestFolder is what every source does.
func TestFolder(t *testing.T) {
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
				name := fmt.Sprintf("rows%d", n)
				if err := os.WriteFile(filepath.Join(dir, name+".csv"), []byte(text.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return listeners.Task{ID: "1", Attempt: 1, Listener: &report.Listener{Name: name, Columns: []string{"n", "nothing"}}}
			},
			Wrong: func(*testing.T) listeners.Task {
				return listeners.Task{ID: "1", Attempt: 1, Listener: &report.Listener{Name: "missing"}}
			},
		}
	})
}
