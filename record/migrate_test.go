package record_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func TestMigrateTwice(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		schema, db := pool(t, k)
		for _, table := range []string{"", "other", schema + ".third$1"} {
			for i := range 2 {
				done, err := Migrate(t.Context(), db, table)
				if err != nil {
					t.Fatal(err)
				}
				if want := len(k.Records(Table{})) * (1 - i); len(done) != want {
					t.Errorf("table %q, call %d: %q", table, i, done)
				}
			}
			if err := store(t, db, report.Records{Table: table}).Check(t.Context()); err != nil {
				t.Error(err)
			}
		}
		for _, table := range []string{"a`b", "a b", strings.Repeat("x", 54)} {
			if _, err := Migrate(t.Context(), db, table); err == nil {
				t.Errorf("table %q was made", table)
			}
		}
	})
}

func TestMigrateAtOnce(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, dsn := place(t, k)
		const callers = 6
		done := make([][]string, callers)
		var g errgroup.Group
		for i := range callers {
			g.Go(func() error {
				// A pool of one connection must do.
				db, err := k.Open(report.Database{DSN: report.Secret(dsn)}, Options{MaxConnections: 1, Migrates: true})
				if err != nil {
					return err
				}
				defer db.Close()
				done[i], err = Migrate(t.Context(), db, "")
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if all := slices.Concat(done...); len(all) != len(k.Records(Table{})) {
			t.Errorf("together they did %q", all)
		}
	})
}

// TestMigrateAfterACrash: the step was made, but not noted.
func TestMigrateAfterACrash(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := pool(t, k)
		if _, err := Migrate(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		run(t, db, fmt.Sprint("DELETE FROM file_download_record_migrations WHERE version_id = ", len(k.Records(Table{}))))
		if done, err := Migrate(t.Context(), db, ""); err != nil || len(done) != 1 {
			t.Errorf("%q, %v", done, err)
		}
		run(t, db, "DELETE FROM file_download_record_migrations")
		if done, err := Migrate(t.Context(), db, ""); err != nil || len(done) != len(k.Records(Table{})) {
			t.Errorf("without a first row: %q, %v", done, err)
		}
	})
}

func TestMigrateErrorsHoldNoPassword(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		dsn := of(k, func() string { return "nobody:s3cret@tcp(" + testmain.SharedDatabase(t).Addr + ")/x" },
			func() string { return "postgres://nobody:s3cret@" + testmain.SharedPostgres(t).Addr + "/x" })
		db := connect(t, k, dsn())
		if _, err := Migrate(t.Context(), db, ""); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
	})
}

// TestMigrateWithTheGrantsOfTheDocs runs the statements of docs/reference.
func TestMigrateWithTheGrantsOfTheDocs(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		page, err := os.ReadFile("../docs/reference/" + of(k, "configuration.md", "postgres.md"))
		if err != nil {
			t.Fatal(err)
		}
		schema, admin := pool(t, k)
		var grants []string
		for _, grant := range regexp.MustCompile(`(?m)^GRANT (.*) TO migrator;$`).FindAllStringSubmatch(string(page), -1) {
			grants = append(grants, strings.ReplaceAll(grant[1], "plt_user", "`"+schema+"`"))
		}
		if want := of(k, 10, 1); len(grants) != want {
			t.Fatalf("%d statements for migrator", len(grants))
		}
		db := connect(t, k, account(t, admin, schema, grants...))
		for range 2 {
			if _, err := Migrate(t.Context(), db, ""); err != nil {
				t.Fatal(err)
			}
			beside(t, db)
		}
	})
}
