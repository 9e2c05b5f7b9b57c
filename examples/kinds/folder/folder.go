// Package folder is a source of CSV files in a folder: databases: {NAME: {dsn: folder:///path}}. A
// listener names its file. An empty cell is NULL.
package folder

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

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Kind is the source: kind: folder.
var Kind = listeners.Kind{
	Source: kind.Source{
		Name: "folder", Field: "database",
		Words: report.Words{
			Noun: "folder", Section: "databases", Work: "it has been reading a file for",
			Remedy: "check that the folder exists and that this user may read it",
		},
		DSN:    &kind.DSN{Schemes: []string{"folder"}, Form: "folder:///path", Check: checkDSN},
		Fields: func() any { return new(Fields) },
		Read:   read,
	},
	OpenDatabase: func(d report.Database) (listeners.Connection, error) {
		return Folder(strings.TrimPrefix(d.DSN.Reveal(), "folder://")), nil
	},
}

// Fields are the own fields of a listener.
type Fields struct {
	Database string   `yaml:"database" unset:"required" json:"-" doc:"Name of one of databases"`
	File     string   `yaml:"file" need:"Name a file in the folder of the database" doc:"Name of a CSV file with a header"`
	Columns  []string `yaml:"columns" need:"List the columns that the file has" json:"-" doc:"Names of the columns, as in the header"`
}

func checkDSN(dsn string) *report.Mistake {
	if path, ok := strings.CutPrefix(dsn, "folder://"); !ok || !filepath.IsAbs(path) {
		return &report.Mistake{Message: "not a folder", Remedy: "Write folder:///path, with an absolute path"}
	}
	return nil
}

// read validates the own fields of a listener.
func read(l *kind.Listener) {
	f := l.Own.(*Fields)
	l.Columns = f.Columns
	if l.Has("file") && !filepath.IsLocal(f.File) {
		l.Get("file").Problem("not a file in the folder", "Write a path without .. that does not begin with /")
	}
}

// Folder is an open folder.
type Folder string

var _ listeners.Connection = Folder("")

// Reach implements listeners.Connection.
func (f Folder) Reach(context.Context) error {
	_, err := os.ReadDir(string(f))
	return err
}

// Close implements listeners.Connection.
func (f Folder) Close() error { return nil }

// Read implements listeners.Source.
func (f Folder) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	own, ok := task.Listener.Own.(*Fields)
	if !ok {
		return listeners.Permanent(errors.New("not a listener of a folder"))
	}
	if err := f.Reach(ctx); err != nil {
		return listeners.Outage(err) // such as a network folder that is away
	}
	file, err := os.Open(filepath.Join(string(f), own.File))
	if errors.Is(err, fs.ErrNotExist) {
		return listeners.Permanent(err) // no try can find it
	} else if err != nil {
		return err
	}
	defer file.Close()
	rows := csv.NewReader(file)
	header, err := rows.Read()
	if err != nil || !slices.Equal(header, task.Listener.Columns) {
		return listeners.Permanent(fmt.Errorf("%s has the columns %q, not %q", own.File, header, task.Listener.Columns))
	}
	columns := make([]dataset.Column, len(header))
	for i, name := range header {
		columns[i] = dataset.Column{Name: name, Kind: report.KindText}
	}
	if err := out.Columns(columns); err != nil {
		return err
	}
	return copyRows(ctx, rows, out)
}

// copyRows writes the rows of a file.
func copyRows(ctx context.Context, rows *csv.Reader, out *listeners.Writer) error {
	for {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
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
