package waiting

import (
	"context"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/mysql"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// TestPastExportsOfARequestThatEnds: neither a browser that leaves nor an error empties the list of the next page,
// and the next page does not read it again.
func TestPastExportsOfARequestThatEnds(t *testing.T) {
	t.Parallel()
	schema, _ := testmain.Schema(t)
	db, err := mysql.Kind.Open(report.Database{DSN: report.Secret(testmain.SharedDatabase(t).DSN(schema))}, record.Options{MaxConnections: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	run := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := record.Migrate(t.Context(), db, ""); err != nil {
		t.Fatal(err)
	}
	records, err := record.New(db, report.Records{})
	if err != nil {
		t.Fatal(err)
	}
	run("ALTER TABLE file_download_record DROP INDEX owner_id")
	run("INSERT INTO file_download_record (report, status, owner, file) VALUES ('r', 'SUCCESS', 'ann', 'gs://b/r/1-1.csv')")
	p := New(Options{Seal: sealer(t, key, "abc234", ours), Inspect: inspect.New(inspect.Options{Records: records}), People: records.People()})
	pass := Pass{ID: "99", Expires: time.Now().Add(time.Hour), Person: "ann"}

	if all := p.exports.of(t.Context(), pass); len(all) != 0 {
		t.Fatal("a list without an index:", all)
	}
	run("ALTER TABLE file_download_record ADD INDEX owner_id (owner, id)")
	if all := p.exports.of(t.Context(), pass); len(all) != 1 {
		t.Errorf("after an error: %v", all)
	}
	p = New(p.o)
	asked, ask := 0, p.exports.lists.Ask
	p.exports.lists.Ask = func(ctx context.Context, person owner) (exportList, error) {
		asked++
		return ask(ctx, person)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	p.exports.of(left, pass)
	for range 2 {
		if all := p.exports.of(t.Context(), pass); len(all) != 1 || asked != 1 {
			t.Errorf("the list that a browser asked for that left: %v, read %d times", all, asked)
		}
	}
}
