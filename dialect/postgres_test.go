package dialect

import (
	"strings"
	"testing"
)

// TestPostgresColumns: names without quotes are in lower case, and DISTINCT ON is no column.
func TestPostgresColumns(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{ // "" where it cannot be known
		`SELECT Id, t.Name, "Mixed", b AS "As Is", c AS Low FROM t`:          `id|name|Mixed|As Is|low`,
		"SELECT DISTINCT ON (a, lower(b)) t.c, d FROM t":                     "c|d",
		"SELECT a::text AS a, x::numeric(10,2) total, j -> 'k' AS k FROM t":  "a|total|k",
		"SELECT at AT TIME ZONE 'UTC' AS at, count(*) FILTER (WHERE b) AS n": "at|n",
		"SELECT a::text":        "",
		"SELECT a ILIKE b":      "",
		"SELECT a ISNULL":       "",
		"SELECT a SIMILAR TO b": "",
		"SELECT count(*)":       "",
	} {
		q, err := Postgres.Parse(query)
		names, ok := q.SelectList()
		if got := strings.Join(names, "|"); err != nil || got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, %v; want %q", query, got, ok, err, want)
		}
	}
}

// TestPostgresWrites: a WITH that changes data is refused.
func TestPostgresWrites(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"WITH gone AS (DELETE FROM t RETURNING *) SELECT a FROM gone",
		"WITH x AS MATERIALIZED (/* c */ update t SET a = 1 RETURNING a) SELECT a FROM x",
		"WITH x AS (SELECT 1), y AS NOT MATERIALIZED (INSERT INTO t SELECT 1 RETURNING a) SELECT a FROM y",
		"WITH x AS (SELECT 1) MERGE INTO t USING x ON true WHEN MATCHED THEN DELETE",
		"WITH x AS (SELECT 1) DELETE FROM t",
	} {
		if _, err := Postgres.Parse(text); err == nil || !strings.Contains(err.Error(), "changes data. Remove it") &&
			!strings.Contains(err.Error(), "INTO") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		`SELECT "delete", t.update FROM t FOR UPDATE`, "SELECT (update) FROM t", "SELECT ')' AS update FROM t",
		"WITH x AS (SELECT 1 AS delete) SELECT delete FROM x", "SELECT f(x) update FROM t",
	} {
		if _, err := Postgres.Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestPostgresArrays: a list is one argument, which has one number, and IN becomes an operator for it.
func TestPostgresArrays(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT a FROM t WHERE a IN (:l)":                                     "SELECT a FROM t WHERE a = ANY ($1)",
		"SELECT a FROM t WHERE a NOT/**/in /* x */( :l ) AND b = :v":          "SELECT a FROM t WHERE a <> ALL ($1) AND b = $2",
		"SELECT a FROM t WHERE b = :v AND a IN (:l) OR c IN (:l);":            "SELECT a FROM t WHERE b = $1 AND a = ANY ($2) OR c = ANY ($2);",
		"SELECT a FROM t WHERE a IN (:l)IN (:l)":                              "SELECT a FROM t WHERE a = ANY ($1)= ANY ($1)",
		"SELECT a FROM t WHERE a = ANY(:l) OR a IN (0, :l)":                   "SELECT a FROM t WHERE a = ANY($1) OR a IN (0, $1)",
		"SELECT a FROM t WHERE :v IS NULL OR a IN (:v) AND :v/**/is not null": "SELECT a FROM t WHERE $1::text IS NULL OR a IN ($2) AND $3::text/**/is not null",
		"SELECT unnest(:l::int[]) AS a":                                       "SELECT unnest($1::int[]) AS a",
	} {
		q, err := Postgres.Parse(query)
		if err != nil {
			t.Fatal(query, err)
		}
		got, args, err := q.Bind(func(name string) (any, bool) {
			if name == "l" {
				return Array{[]any{1, 2}}, true
			}
			return 1, true
		})
		if got != want || err != nil || len(args) < len(q.Names()) {
			t.Errorf("%s:\n got %s %v\nwant %s, %v", query, got, args, want, err)
		}
	}
}

// TestPlace: a byte of the SQL is that of the query, whatever Bind has made of the parameters before it.
func TestPlace(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SELECT a FROM t WHERE b = :x AND X", "SELECT a FROM t WHERE b NOT IN\n ( :list ) AND c IN (:list) AND X",
		"SELECT a FROM t WHERE :x IS NULL AND X", "SELECT :tag::text AS a, unnest(:list::int[]) AS X", "SELECT X",
		"SELECT a FROM t WHERE b IN (:x) AND :x = c AND X",
	} {
		q, err := Postgres.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		sql, _, err := q.Bind(func(name string) (any, bool) {
			if name == "list" {
				return Array{}, true
			}
			return name, true
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := q.Place(sql, strings.Index(sql, "X")), strings.Index(text, "X"); got != want {
			t.Errorf("%s: %d, want %d", sql, got, want)
		}
		for at := range len(sql) + 2 {
			if got := q.Place(sql, at); got < 0 || got > len(text) {
				t.Errorf("%s: %d is at %d", sql, at, got)
			}
		}
		if at := strings.Index(sql, "$1"); at >= 0 && !strings.HasPrefix(text[q.Place(sql, at):], ":") &&
			!strings.Contains(strings.ToUpper(text[q.Place(sql, at):]), "IN") {
			t.Errorf("%s: $1 is at %q", sql, text[q.Place(sql, at):])
		}
	}
}
