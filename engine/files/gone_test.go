package files_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/mysql"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink/dir"
)

const day = 24 * time.Hour

// emptied is a directory with files of rows that were deleted, and an engine that sweeps it.
type emptied struct {
	*testing.T
	db   *record.DB
	root string
	*files.Files
}

func newEmptied(t *testing.T, options report.Records, table string) *emptied {
	t.Helper()
	schema, _ := testmain.Schema(t)
	db, err := mysql.Kind.Open(report.Database{DSN: report.Secret(testmain.SharedDatabase(t).DSN(schema))}, record.Options{MaxConnections: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g := &emptied{T: t, db: db, root: t.TempDir()}
	if table == "" {
		_, err = record.Migrate(t.Context(), db, "")
	} else {
		g.exec(table)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.MigrateTables(t.Context(), db, options.Table); err != nil {
		t.Fatal(err)
	}
	records, err := record.New(db, options)
	if err != nil {
		t.Fatal(err)
	}
	place, err := dir.New(g.root)
	if err != nil {
		t.Fatal(err)
	}
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	e, err := engine.New(engine.Options{
		Redis: client, Scripts: scripts.New(scripts.Options{Redis: client}), Records: records, Consumer: "sweep",
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Files, err = files.New(e, files.Options{Sink: place, Formats: kinds.Standard().Formats, Installation: "abc234", Deletions: records.Deletions(), History: records})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *emptied) exec(statement string, args ...any) {
	g.Helper()
	if _, err := g.db.ExecContext(context.Background(), statement, args...); err != nil {
		g.Fatalf("%s: %v", statement, err)
	}
}

// put makes files of an age in the folder r.
func (g *emptied) put(age time.Duration, names ...string) {
	g.Helper()
	at := time.Now().Add(-age)
	for _, name := range names {
		path := filepath.Join(g.root, "r", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			g.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			g.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			g.Fatal(err)
		}
	}
}

// swept is a sweep, after which these files are left.
func (g *emptied) swept(when string, want ...string) {
	g.Helper()
	if _, err := g.Sweep(g.Context()); err != nil {
		g.Errorf("%s: %v", when, err)
	}
	g.left(when, want...)
}

func (g *emptied) left(when string, want ...string) {
	g.Helper()
	var got []string
	if err := filepath.WalkDir(g.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, filepath.Join(g.root, "r")+"/"))
		}
		return err
	}); err != nil {
		g.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		g.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// daily notes that a sweep ran every day, from and until some time ago.
func (g *emptied) daily(since, last time.Duration) {
	g.Helper()
	now := time.Now()
	g.exec("REPLACE INTO fanfold_meta (name, value) VALUES (?, ?)", "file_download_record sweeps",
		fmt.Sprint(now.Add(-since).Unix(), " ", now.Add(-last).Unix()))
}

func (g *emptied) url(name string) string { return "file://" + filepath.Join(g.root, "r", name) }

// TestFilesOfDeletedRows: a sweep deletes old files of deleted rows, with their manifests, and
// only those with this installation's tag. A row that the filter hides exists, a row that has this
// file keeps it, and a file that a copied row points to stays.
func TestFilesOfDeletedRows(t *testing.T) {
	t.Parallel()
	g := newEmptied(t, report.Records{Filter: "report <> 'hidden'"}, "")
	g.exec(`INSERT INTO file_download_record (id, report, status, attempt, file) VALUES (1, 'r', 'SUCCESS', 1, ?), (2, 'hidden', 'SUCCESS', 1, ?), (9, 'r', 'SUCCESS', 1, ?)`,
		g.url("1-1-abc234.csv"), g.url("2-1-abc234.csv"), g.url("5-1-abc234.csv"))
	stays := []string{
		"1-1-abc234.csv", "1-1-abc234.csv.manifest.json", "2-1-abc234.csv", "2-1-abc234.csv.manifest.json",
		"5-1-abc234.csv", "5-1-abc234.csv.manifest.json", // of a deleted row; row 9 is its copy
		"3-1-xyz234.csv", "3-1-xyz234.csv.manifest.json", "3-1.csv", "3-1-abc234.txt", "x-1-abc234.csv",
		"10-1-abc234.csv", // after the last id
	}
	goes := []string{
		"3-1-abc234.csv", "3-1-abc234.csv.manifest.json", "3-2-abc234.csv.gz", "4-1-abc234.csv.manifest.json",
		".tmp/3-1-abc234.csv.0123456789abcdef.tmp",
	}
	g.put(32*day, append(stays, goes...)...)
	g.put(29*day, "6-1-abc234.csv", "6-1-abc234.csv.manifest.json")
	g.put(30*day+time.Hour, "7-1-abc234.csv.manifest.json") // its file is a little younger
	g.put(30*day-time.Hour, "7-1-abc234.csv")
	g.put(30*day+time.Minute, "8-1-abc234.csv")
	g.put(30*day-time.Minute, "8-1-abc234.csv.manifest.json")
	young := []string{"6-1-abc234.csv", "6-1-abc234.csv.manifest.json", "7-1-abc234.csv", "7-1-abc234.csv.manifest.json"}
	both := []string{"8-1-abc234.csv", "8-1-abc234.csv.manifest.json"}
	g.swept("the first sweep", slices.Concat(stays, goes, young, both)...)
	g.daily(29*day, day)
	g.swept("after sweeps for 29 days", slices.Concat(stays, goes, young, both)...)
	g.daily(31*day, day)
	g.swept("after sweeps for 31 days", slices.Concat(stays, young)...)
	g.swept("again", slices.Concat(stays, young)...)
}

// TestFilesOfDeletedTextIDs does the same on a table of a service.
func TestFilesOfDeletedTextIDs(t *testing.T) {
	t.Parallel()
	g := newEmptied(t, report.Records{
		Table:    "file_download_record",
		Columns:  map[string]string{"id": "key", "report": "kind", "parameters": "-", "status": "state", "attempt": "n", "file": "url", "updated": "changed", "error": "-", "rows": "-"},
		Statuses: map[string]string{"PENDING": "0", "PROCESSING": "1", "SUCCESS": "2", "FAILED": "-1", "CANCELLED": "9"},
		Filter:   "owner = 'fanfold'",
	}, "CREATE TABLE file_download_record (`key` VARCHAR(40) PRIMARY KEY, kind TEXT, state TINYINT, n INT, url TEXT, changed DATETIME, owner VARCHAR(20))")
	g.exec("INSERT INTO file_download_record VALUES ('a', 'r', 2, 1, ?, NOW(), 'other'), ('m-2', 'r', 2, 1, ?, NOW(), 'fanfold')", g.url("a-1-abc234.csv"), g.url("m-2-1-abc234.csv"))
	g.put(40*day, "a-1-abc234.csv", "A-1-abc234.csv", "m-1-1-abc234.csv", "m-2-1-abc234.csv", "z-1-abc234.csv")
	g.daily(31*day, day)
	g.swept("a sweep", "a-1-abc234.csv", "A-1-abc234.csv", "m-2-1-abc234.csv", "z-1-abc234.csv")
}

// TestFilesAfterARestore: rows that an older backup lacks keep their files, at first because no later
// id exists, and for 30 days because the backup has the time of an earlier sweep.
func TestFilesAfterARestore(t *testing.T) {
	t.Parallel()
	g := newEmptied(t, report.Records{}, "")
	g.exec("INSERT INTO file_download_record (id, report) VALUES (1, 'r'), (2, 'r')")
	files := []string{"3-1-abc234.csv", "4-1-abc234.csv"}
	g.put(31*day, files...)
	g.daily(90*day, day)
	g.swept("with nothing after the backup", files...)
	g.exec("INSERT INTO file_download_record (id, report) VALUES (7, 'r')")
	g.daily(90*day, 5*day)
	g.swept("in the first sweep on a backup of 5 days ago", files...)
	g.swept("in the next sweep", files...)
	g.daily(29*day, day)
	g.swept("for 29 days", files...)
	g.exec("INSERT INTO file_download_record (id, report, status, attempt, file) VALUES (3, 'r', 'SUCCESS', 1, ?)", g.url(files[0]))
	g.daily(31*day, day)
	g.swept("and then, unless the row is back", files[0])
}

// TestFilesWithoutADatabase: errors delete nothing of deleted rows, and keep no other file from its
// end.
func TestFilesWithoutADatabase(t *testing.T) {
	t.Parallel()
	g := newEmptied(t, report.Records{}, "")
	g.exec("INSERT INTO file_download_record (id, report, status, attempt) VALUES (1, 'r', 'FAILED', 2), (9, 'r', 'FAILED', 1)")
	g.put(40*day, "3-1-abc234.csv", "3-1-abc234.csv.manifest.json")
	g.daily(40*day, day)
	g.exec("RENAME TABLE fanfold_meta TO elsewhere")
	g.put(40*day, "1-1-abc234.csv")
	if _, err := g.Sweep(t.Context()); err == nil {
		t.Error("no error without the time of the last sweep")
	}
	g.left("without the time of the last sweep", "3-1-abc234.csv", "3-1-abc234.csv.manifest.json")
	g.exec("RENAME TABLE elsewhere TO fanfold_meta")
	g.exec("ALTER TABLE file_download_record RENAME COLUMN file TO f")
	if _, err := g.Sweep(t.Context()); err == nil {
		t.Error("no error without a column")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := g.Sweep(ended); err == nil {
		t.Error("no error after the end")
	}
	_ = g.db.Close()
	if _, err := g.Sweep(t.Context()); err == nil {
		t.Error("no error without a database")
	}
	g.left("without a database", "3-1-abc234.csv", "3-1-abc234.csv.manifest.json")
}

// TestSweepsAtOnce delete the same files, and nothing else.
func TestSweepsAtOnce(t *testing.T) {
	t.Parallel()
	g := newEmptied(t, report.Records{}, "")
	var stays []string
	g.exec("INSERT INTO file_download_record (id, report, status, attempt) VALUES (100000, 'r', 'FAILED', 1)")
	for id := range 700 {
		name := fmt.Sprintf("%d-1-abc234.csv", id+1)
		g.put(40*day, name, name+".manifest.json")
		if id%100 == 0 {
			g.exec("INSERT INTO file_download_record (id, report, status, attempt, file) VALUES (?, 'r', 'SUCCESS', 1, ?)", id+1, g.url(name))
			stays = append(stays, name, name+".manifest.json")
		}
	}
	g.daily(40*day, day)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := g.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	g.left("after four sweeps", stays...)
}
