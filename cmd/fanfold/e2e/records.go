package e2e

import (
	"bytes"
	"cmp"
	"database/sql"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/postgres"
)

// Records are the tables of a stack.
type Records struct {
	testing.TB
	DB    *sql.DB
	store *record.Store
}

// Exec runs SQL.
func (r Records) Exec(query string, args ...any) {
	r.Helper()
	if _, err := r.DB.ExecContext(r.Context(), testmain.SharedDatabase(r).SQL(query), args...); err != nil {
		r.Fatalf("%.200s: %v", query, err)
	}
}

// Insert writes a record and returns its id.
func (r Records) Insert(report, parameters string) string {
	r.Helper()
	id, err := r.store.Insert(r.Context(), record.Request{Report: report, Parameters: []byte(cmp.Or(parameters, "{}"))})
	if err != nil {
		r.Fatal(err)
	}
	return id
}

// Number returns the integer that a query finds.
func (r Records) Number(query string, args ...any) int {
	r.Helper()
	var n sql.NullInt64
	if err := r.DB.QueryRowContext(r.Context(), query, args...).Scan(&n); err != nil {
		r.Fatal(err)
	}
	return int(n.Int64)
}

// Expect returns the result of a query as CSV according to RFC 4180, without the code under test.
func (r Records) Expect(header, query string) string {
	r.Helper()
	rows, err := r.DB.QueryContext(r.Context(), testmain.SharedDatabase(r).SQL(query))
	if err != nil {
		r.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		r.Fatal(err)
	}
	cells := make([]sql.RawBytes, len(columns))
	targets := make([]any, len(columns))
	for i := range cells {
		targets[i] = &cells[i]
	}
	var out strings.Builder
	out.WriteString(header + "\r\n")
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			r.Fatal(err)
		}
		for i, c := range cells {
			if i > 0 {
				out.WriteByte(',')
			}
			if bytes.ContainsAny(c, ",\"\r\n") {
				out.WriteString(`"` + strings.ReplaceAll(string(c), `"`, `""`) + `"`)
			} else {
				out.Write(c)
			}
		}
		out.WriteString("\r\n")
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	return out.String()
}

// Audit makes the database record every final status of a record.
func (r Records) Audit() {
	r.Helper()
	r.Exec("CREATE TABLE finals (id BIGINT, status VARCHAR(16), attempt INT)")
	if r.store.Kind() == postgres.Kind {
		r.Exec(`CREATE FUNCTION final() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO finals VALUES (NEW.id, NEW.status, NEW.attempt); RETURN NULL; END'`)
		r.Exec(`CREATE TRIGGER final AFTER UPDATE ON file_download_record FOR EACH ROW
			WHEN (NEW.status IN ('SUCCESS', 'FAILED') AND OLD.status <> NEW.status) EXECUTE FUNCTION final()`)
		return
	}
	r.Exec(`CREATE TRIGGER final AFTER UPDATE ON file_download_record FOR EACH ROW
		INSERT INTO finals SELECT NEW.id, NEW.status, NEW.attempt FROM DUAL
		WHERE NEW.status IN ('SUCCESS', 'FAILED') AND OLD.status <> NEW.status`)
}

// InSnapshot waits until the snapshot of delayed ids and timers has this number of members.
func (r Records) InSnapshot(members int) {
	r.Helper()
	Eventually(r, "the snapshot has these members", func() bool { return r.SnapshotSize() == members })
}

// SnapshotSize returns the number of members of the snapshot.
func (r Records) SnapshotSize() int {
	r.Helper()
	n, err := r.store.SnapshotMembers(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return n
}
