package postgres

import (
	"fmt"
	"strings"
	"testing"

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
				return task(t, fmt.Sprintf("SELECT n, NULL AS nothing FROM generate_series(1, %d) n ORDER BY n", n), "n nothing")
			},
			Echo: func(t *testing.T, text string) listeners.Task {
				echo := task(t, "SELECT :text AS text", "text")
				echo.Parameters = map[string]any{"text": text}
				return echo
			},
			Values: func(t *testing.T) listeners.Task {
				return listenertest.FromValues(task(t, "SELECT n FROM generate_series(1, 25000) n WHERE n IN (:s.v)", "n"), report.KindInteger)
			},
			Endless: func(t *testing.T) listeners.Task { return task(t, "SELECT pg_sleep(600)::text AS n", "n") },
			Wrong:   func(t *testing.T) listeners.Task { return task(t, "SELECT no_such_column AS n", "n") },
			Away: func(t *testing.T) (listeners.Source, listeners.Task) {
				return open(t, "postgres://u@127.0.0.1:1/x"), task(t, "SELECT 1 AS n", "n")
			},
		}
	})
}

// TestKind is what every kind of database does.
func TestKind(t *testing.T) {
	t.Parallel()
	const account = "postgres://app:" + listenertest.Password
	listenertest.TestKind(t, Kind, listenertest.Names{
		Valid: []string{
			account + "@db:5432/shop", account + "@/shop?host=/run/postgresql", account + "@db/a?sslmode=require",
			strings.Replace(account, "postgres", "postgresql", 1) + "@[::1]:5432/a?search_path=x,y&connect_timeout=3",
			account + "/@:?#@db/shop", // a password that is not escaped
		},
		NoPassword: "postgres://app@db:5432/shop",
		Wrong: []string{
			account, account + "@db:1", account + "@db:" + listenertest.Password + "/shop", account + "@a b/shop",
			"postgres://app:x@" + listenertest.Password + "/db/x", "mysql://app:" + listenertest.Password + "@db/shop",
			account + "%@db/shop", account + "@db/%" + listenertest.Password, account + "@db/a?" + listenertest.Password,
			account + "@db/a?connect_timeout=" + listenertest.Password, account + "@db/a?sslmode=" + listenertest.Password,
			account + "@db/a?password=" + listenertest.Password, account + "@db/a?sslpassword=" + listenertest.Password,
			account + "@db/a?TimeZone=UTC", account + "@db/a?sslmode=verify-ca", account + "@h1,h2/a",
		},
	})
	if user, password := account_("postgres://app:50%25@db/a"); user != "app" || password != "50%" {
		t.Errorf("an escaped password: %s %s", user, password)
	}
}

func account_(text string) (user, password string) {
	d, _ := parseDSN(text)
	return d.user, d.password
}
