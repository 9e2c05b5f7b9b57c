package dialect

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsed(t *testing.T, text string) Query {
	t.Helper()
	q, err := MySQL.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestQueryNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, query string
		want        []string
	}{
		{"none", "SELECT 1", nil},
		{"in order, each once", "SELECT :b, :a, :b", []string{"b", "a"}},
		{"with dots", "SELECT a FROM t WHERE a IN (:plt_fund.vs_withdraw.user_id)", []string{"plt_fund.vs_withdraw.user_id"}},
		{"a dot at the end is not part of it", "SELECT :a.", []string{"a"}},
		{"a number after a dot is not part of it", "SELECT :a.1", []string{"a"}},
		{"strings", `SELECT ':a', ":b", 'it''s :c', 'it\'s :d', "say ""x"" :e", '\\', :f`, []string{"f"}},
		{"quoted names", "SELECT `:a`, `b``:c`, `\\`, :d", []string{"d"}},
		{"comments", "SELECT 1 -- :a\n, 2 # :b 'x\n, /* :c ' */ :d --", []string{"d"}},
		{"two minus signs are no comment", "SELECT 1--:a", []string{"a"}},
		{"a hint", "SELECT /*+ MAX_EXECUTION_TIME(:a) */ :b", []string{"b"}},
		{"assignment and double colon", "SELECT @x := 1, @y:=:a, b::text, c:::d", []string{"a"}},
		{"digits are no name", "SELECT :1, :_1", []string{"_1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, parsed(t, c.query).Names()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectList(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{ // "" where it cannot be known
		"SELECT a": "a",
		"select distinct SQL_NO_CACHE a, t.b, s.t.c;":            "a b c",
		"SELECT `a b`, t.`c``d` FROM t":                          "a b|c`d",
		"SELECT a AS b, 'x' AS \"y z\", 1 AS `n` FROM t":         "b|y z|n",
		"SELECT a b, SUM(x) s, COUNT(*) n, 1 one, :p given":      "b s n one given",
		"SELECT CASE a WHEN 1 THEN 2 END x, NULL y, 'v' w":       "x y w",
		"SELECT IF(a, b, (SELECT c FROM d)) AS e, f FROM t":      "e f",
		"SELECT t.order, t.from, `end` FROM t":                   "order from end",
		"SELECT EXTRACT(YEAR FROM d) AS y FROM t":                "y",
		"SELECT ROW_NUMBER() OVER (ORDER BY a) rn FROM t":        "rn",
		"SELECT d + INTERVAL 1 DAY AS next FROM t":               "next",
		"SELECT a COLLATE utf8mb4_bin AS c, end FROM t":          "c end",
		"(SELECT a FROM t) UNION (SELECT b FROM u)":              "a",
		"SELECT a UNION SELECT b, c":                             "a",
		"SELECT a /* , b */ -- c\n, d FROM t":                    "a d",
		"SELECT *":                                               "",
		"SELECT t.* FROM t":                                      "",
		"SELECT a, * FROM t":                                     "",
		"SELECT a + b FROM t":                                    "",
		"SELECT COUNT(*) FROM t":                                 "",
		"SELECT NULL":                                            "",
		"SELECT 1":                                               "",
		"SELECT 'a'":                                             "",
		"SELECT :a":                                              "",
		"SELECT @a":                                              "",
		"SELECT NOT a":                                           "",
		"SELECT -a":                                              "",
		"SELECT a DIV b":                                         "",
		"SELECT a IS NULL":                                       "",
		"SELECT a COLLATE utf8mb4_bin":                           "",
		"SELECT CASE WHEN a THEN 1 END":                          "",
		"SELECT d + INTERVAL 1 DAY":                              "",
		"SELECT DATE '2024-01-01'":                               "",
		"SELECT COUNT(*) OVER w FROM t WINDOW w AS (ORDER BY a)": "",
		"WITH x AS (SELECT 1) SELECT a FROM x":                   "",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			names, ok := parsed(t, query).SelectList()
			separator := " "
			if strings.Contains(want, "|") {
				separator = "|"
			}
			if got := strings.Join(names, separator); got != want || ok != (want != "") {
				t.Errorf("%q, %v; want %q", got, ok, want)
			}
		})
	}
}

// TestCommasWithoutAColumn: a select list has a column on both sides of a comma. PostgreSQL can select none.
func TestCommasWithoutAColumn(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]int{
		"SELECT a, FROM t": {8}, "SELECT DISTINCT , a": {16}, "SELECT a,,b,": {8, 11}, "(SELECT a, (b), /* c */)": {14},
		"SELECT FROM t": nil, "SELECT a, b FROM t": nil, "SELECT f(a,) x FROM t": nil,
	} {
		_, err := MySQL.Parse(query)
		var got []int
		if wrong, ok := errors.AsType[mistakes](err); ok {
			for _, m := range wrong {
				got = append(got, m.at)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v: %v", query, got, want, err)
		}
	}
}

func TestQueryBind(t *testing.T) {
	t.Parallel()
	values := map[string]any{"a": int64(1), "l": []any{"x", "y", "z"}, "e": []any{}, "n": nil, "s.t.c": []any{int64(7)}}
	for _, c := range []struct {
		query, sql string
		args       []any
	}{
		{"SELECT a", "SELECT a", nil},
		{"SELECT :a, ':a', :a", "SELECT ?, ':a', ?", []any{int64(1), int64(1)}},
		{"SELECT 1 IN (:l)", "SELECT 1 IN (?, ?, ?)", []any{"x", "y", "z"}},
		{"SELECT 1 IN (:e)", "SELECT 1 IN (NULL)", nil},
		{"SELECT :n -- :a\n", "SELECT ? -- :a\n", []any{nil}},
		{"SELECT 1 IN (:s.t.c);", "SELECT 1 IN (?);", []any{int64(7)}},
	} {
		t.Run(c.query, func(t *testing.T) {
			t.Parallel()
			sql, args, err := parsed(t, c.query).Bind(func(name string) (any, bool) {
				v, ok := values[name]
				return v, ok
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.sql, sql); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.args, args); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQueryBindNeedsEveryValue(t *testing.T) {
	t.Parallel()
	_, _, err := parsed(t, "SELECT :a").Bind(func(string) (any, bool) { return nil, false })
	if err == nil || !strings.Contains(err.Error(), ":a") {
		t.Errorf("error %v", err)
	}
	if _, _, err := (Query{}).Bind(nil); err == nil {
		t.Error("the empty query was bound")
	}
}

// FuzzParse proves that parsing never panics, and that Bind changes
// nothing but the parameters: with a ? for each, the parts of the written text
// between the ?s are found again in their order.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"SELECT a, t.b AS c FROM t WHERE x = :p AND y IN (:s.t.c) -- :no", "(SELECT ':x' \"\"\"\", `:y`)", "WITH a AS (SELECT 1) SELECT * FROM a;",
		"SELECT 'it''s' /* :c */ # x\n, @a:=:b, c::d", "SELECT '\\", "SELECT :a.:b.:c", "SELECT /*", "select INTERVAL 1 day, case end, .",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := MySQL.Parse(text)
		if err != nil {
			return
		}
		var used []string
		sql, args, err := q.Bind(func(name string) (any, bool) {
			used = append(used, name)
			return name, true
		})
		if err != nil {
			t.Fatal(err)
		}
		rebuilt := strings.Join(q.texts, "?")
		if sql != rebuilt || len(args) != len(used) {
			t.Fatalf("Bind of %q gave %q with %d arguments for %d parameters", text, sql, len(args), len(used))
		}
		var written strings.Builder
		for i, part := range q.texts {
			written.WriteString(part)
			if i < len(used) {
				written.WriteString(":" + used[i])
			}
		}
		if written.String() != text || q.Text != text {
			t.Fatalf("the parts of %q are %q", text, written.String())
		}
		if names, ok := q.SelectList(); ok && len(names) == 0 {
			t.Fatalf("%q has a known list without columns", text)
		}
	})
}

// TestQueryInto: a query cannot write a file of the server.
func TestQueryInto(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"SELECT a FROM t INTO OUTFILE '/tmp/x'", "SELECT a into dumpfile '/tmp/x' FROM t", "SELECT 1 INTO @a"} {
		if _, err := MySQL.Parse(text); err == nil || !strings.Contains(err.Error(), "INTO, which writes") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := MySQL.Parse("SELECT `into`, 'INTO' AS b FROM t -- INTO"); err != nil {
		t.Error(err)
	}
}

// TestOtherDialect: the names in strings and comments of another server are no parameters.
func TestOtherDialect(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`SELECT ':a', '\', :b, "x"":c"`:                             "b",
		`SELECT E'it\'s :a', e'\\', :b, one'x'`:                     "b",
		"SELECT $$ :a ' $$, $tag$ :b $$ $x$ $tag$, :c":              "c",
		"SELECT /* :a /* :b */ :c */ :d -- :e":                      "d",
		"SELECT x::date, :a::int, j ? 'k', j ?| :b FROM t":          "a b",
		"SELECT a$b, :c FROM t WHERE x = ANY(:d) AND /**/ y = '$1'": "c d",
	} {
		q, err := Postgres.Parse(query)
		if got := strings.Join(q.Names(), " "); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", query, got, err, want)
		}
	}
	for query, want := range map[string]string{
		"SELECT $1": "a $1 has no value", "SELECT $$ x": "quote", "SELECT E'\\'": "quote", "SELECT /* /* */": "comment", "SELECT $a$ $b$": "quote",
	} {
		if _, err := Postgres.Parse(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
	q, err := Postgres.Parse("SELECT a FROM t WHERE b IN (:list) AND c = :one AND d = :one")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"list": []any{1, 2}, "one": "x"}
	text, args, err := q.Bind(func(name string) (any, bool) { v, ok := values[name]; return v, ok })
	if want := "SELECT a FROM t WHERE b IN ($1, $2) AND c = $3 AND d = $3"; err != nil || text != want || len(args) != 3 {
		t.Errorf("%s %v %v, want %s", text, args, err, want)
	}
}
