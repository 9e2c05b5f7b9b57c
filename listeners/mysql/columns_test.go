package mysql

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// TestColumns: the server tells the columns of a query without running it, with the types that a job gets.
func TestColumns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.db.ExecContext(t.Context(), "CREATE TABLE typed (i INT ZEROFILL, u BIGINT UNSIGNED, d DECIMAL(12,4), f FLOAT, m DOUBLE(8,2), x DOUBLE, "+
		"s VARCHAR(9), day DATE, at DATETIME(3), stamp TIMESTAMP NULL, took TIME(1), y YEAR, b BIT(9), raw VARBINARY(9))"); err != nil {
		t.Fatal(err)
	}
	r := &report.Report{Parameters: []report.Parameter{{Name: "day", Type: report.ParamDate}, {Name: "n", Type: report.ParamInteger}, {Name: "tag"}, {Name: "least", Type: report.ParamDecimal}, {Name: "all", Type: report.ParamBoolean}, {Name: "since", Type: report.ParamDatetime}}}
	for _, query := range []string{
		"SELECT * FROM typed; ",
		"SELECT i + 1 AS i, d / 3 AS third, CONCAT(s, 'x') AS c, MAX(at) AS at, COUNT(*) AS n FROM typed GROUP BY i, d, s -- end",
		"SELECT :tag AS tag, :n AS n, :least AS least, :day AS day, :since AS since, :all AS every FROM typed WHERE day > :day AND (:all OR at > :since) AND d > :least LIMIT :n",
		"SELECT SLEEP(100) AS slept, i FROM typed UNION ALL SELECT 1, 2",
	} {
		of := task(t, query, "")
		of.Parameters = map[string]any{"tag": "x", "n": int64(1), "day": "2024-01-01", "all": true, "since": "2024-01-01 00:00:00", "least": "1.5"}
		of.Listener.Zone = "Europe/Berlin"
		got, err := b.source.Columns(t.Context(), r, of.Listener)
		if err != nil || got == nil {
			t.Fatal(query, got, err)
		}
		for _, c := range got {
			of.Listener.Columns = append(of.Listener.Columns, c.Name)
		}
		if strings.Contains(query, "SLEEP") {
			continue
		}
		if diff := cmp.Diff(b.mustRead(t, of).Columns, got); diff != "" {
			t.Errorf("%s: (-job +Columns)\n%s", query, diff)
		}
	}
	refusing := task(t, "SELECT i, s FROM typed WHERE ST_AsText(ST_GeomFromText(:tag)) IS NULL", "i s")
	got, err := b.source.Columns(t.Context(), r, refusing.Listener)
	if !errors.Is(err, fault.Underivable) || !strings.Contains(err.Error(), "the texts of s have no collation") || len(got) != 2 {
		t.Errorf("a function that refuses 0: %v, %v", got, err)
	}
	for _, query := range []string{"SELECT SLEEP(600) AS slept", "SELECT * FROM (SELECT SLEEP(600) AS slept) AS q"} {
		began := time.Now()
		got, err := b.source.Columns(t.Context(), r, task(t, query, "slept").Listener)
		if !errors.Is(err, fault.Underivable) || got != nil || !strings.Contains(err.Error(), "within 2s") {
			t.Errorf("%s: %v %v after %s", query, got, err, time.Since(began))
		}
	}
	b.await(t, "SLEEP(600)", 0)
	if got, err := b.source.Columns(t.Context(), r, task(t, "SELECT a.i, b.i FROM typed a JOIN typed b", "i j").Listener); err == nil || got != nil {
		t.Errorf("two columns of one name: %v %v", got, err)
	}
}
