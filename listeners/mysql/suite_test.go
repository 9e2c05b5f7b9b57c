package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

// TestSource is what every source does.
func TestSource(t *testing.T) {
	t.Parallel()
	listenertest.Test(t, func(t *testing.T) listenertest.Fixture {
		b := setup(t)
		return listenertest.Fixture{
			Source: b.source,
			Rows: func(t *testing.T, n int) listeners.Task {
				return task(t, fmt.Sprintf("SELECT seq AS n, NULL AS nothing FROM seq_1_to_25000 WHERE seq <= %d ORDER BY seq", n), "n nothing")
			},
			Echo: func(t *testing.T, text string) listeners.Task {
				echo := task(t, "SELECT :text AS text", "text")
				echo.Parameters = map[string]any{"text": text}
				return echo
			},
			Values: func(t *testing.T) listeners.Task {
				return from(task(t, "SELECT seq AS n FROM seq_1_to_25000 WHERE seq IN (:s.v)", "n"))
			},
			Endless: func(t *testing.T) listeners.Task { return task(t, "SELECT SLEEP(600) AS n", "n") },
			Wrong:   func(t *testing.T) listeners.Task { return task(t, "SELECT no_such_column AS n FROM seq_1_to_5", "n") },
			Away: func(t *testing.T) (listeners.Source, listeners.Task) {
				db, err := mysqldb.Connect(report.Database{DSN: report.Secret("u@tcp(127.0.0.1:1)/x")}, 1, time.Second)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				return newSource(db, db), task(t, "SELECT 1 AS n", "n")
			},
		}
	})
}

// TestKind is what every kind of database does.
func TestKind(t *testing.T) {
	t.Parallel()
	const account = "app:" + listenertest.Password
	listenertest.TestKind(t, Kind, listenertest.Names{
		Valid:      []string{account + "@tcp(db:3306)/shop", account + "@unix(/run/m.sock)/shop?tls=preferred", account + "@tcp(db)/a?timeout=1s"},
		NoPassword: "app@tcp(db:3306)/shop",
		Wrong: []string{
			account, account + "@tcp(db:1", account + "@db/shop", "app:x@" + listenertest.Password + "/db", account + "@tcp(db:" + listenertest.Password + ")/shop",
			account + "@tcp(db)/%" + listenertest.Password, account + "@tcp(db)/a?timeout=" + listenertest.Password, account + "@tcp(db)/a?tls=" + listenertest.Password,
		},
	})
}
