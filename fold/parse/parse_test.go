package parse

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// print writes a tree with all parentheses.
func print(x any) string {
	switch x := x.(type) {
	case *Literal:
		return fmt.Sprintf("%d:%q", x.Kind, x.Text)
	case *Parameter:
		return ":" + x.Name
	case *Column:
		if x.Table != "" {
			return x.Table + "!" + x.Name
		}
		return x.Name
	case *Unary:
		return "(" + x.Op + " " + print(x.X) + ")"
	case *Binary:
		return "(" + print(x.L) + " " + x.Op + " " + print(x.R) + ")"
	case *Call:
		name := x.Name
		if x.Distinct {
			name += " DISTINCT"
		}
		if x.Star {
			name += "*"
		}
		tail := x.Unit
		for _, o := range x.OrderBy {
			tail += fmt.Sprint(" by ", print(o.X), o.Desc)
		}
		if x.Separator != nil {
			tail += fmt.Sprintf(" sep %q", *x.Separator)
		}
		return name + list(x.Args) + tail
	case Expr:
		var b strings.Builder
		v := reflect.ValueOf(x).Elem()
		for i := range v.NumField() {
			if k := v.Field(i).Kind(); v.Type().Field(i).Name != "Position" && (k == reflect.Bool || k == reflect.String || k == reflect.Int || v.Type().Field(i).Name == "Type") {
				fmt.Fprint(&b, " ", v.Field(i).Interface())
			}
		}
		return v.Type().Name() + list(Children(x)) + b.String()
	}
	return fmt.Sprint(x)
}

func list(all []Expr) string {
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = print(x)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// printQuery writes a query, one clause a line.
func printQuery(q *Query, indent string) string {
	var b strings.Builder
	for i, s := range q.Selects {
		if i > 0 {
			fmt.Fprintf(&b, "%sunion all=%v\n", indent, q.All[i-1])
		}
		if s.Sub != nil {
			b.WriteString(printQuery(s.Sub, indent+"  "))
			continue
		}
		for _, item := range s.Items {
			if item.Star {
				fmt.Fprintf(&b, "%sitem %s*\n", indent, item.Table)
				continue
			}
			fmt.Fprintf(&b, "%sitem %s as %q\n", indent, print(item.X), item.Name)
		}
		tables := []Table{s.From}
		for _, j := range s.Joins {
			tables = append(tables, j.Table)
		}
		for i, t := range tables {
			fmt.Fprintf(&b, "%sfrom %s as %s", indent, t.Name, t.Alias)
			if i > 0 {
				fmt.Fprintf(&b, " %s", s.Joins[i-1].Kind)
				if s.Joins[i-1].On != nil {
					fmt.Fprintf(&b, " on %s", print(s.Joins[i-1].On))
				}
				for _, c := range s.Joins[i-1].Using {
					fmt.Fprintf(&b, " using %s", c.Name)
				}
			}
			b.WriteString("\n")
			if t.Sub != nil {
				b.WriteString(printQuery(t.Sub, indent+"  "))
			}
		}
		for name, x := range map[string]Expr{"where": s.Where} {
			if x != nil {
				fmt.Fprintf(&b, "%s%s %s\n", indent, name, print(x))
			}
		}
		if s.GroupBy != nil {
			fmt.Fprintf(&b, "%sgroup %s\n", indent, list(s.GroupBy))
		}
		if s.Having != nil {
			fmt.Fprintf(&b, "%shaving %s\n", indent, print(s.Having))
		}
		if s.Distinct {
			fmt.Fprintf(&b, "%sdistinct\n", indent)
		}
	}
	for _, o := range q.OrderBy {
		fmt.Fprintf(&b, "%sorder %s desc=%v\n", indent, print(o.X), o.Desc)
	}
	if q.Limit != nil {
		fmt.Fprintf(&b, "%slimit %d offset %d\n", indent, q.Limit.Count, q.Limit.Offset)
	}
	return b.String()
}

// golden compares with a file, or writes it if UPDATE is set.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (write it with UPDATE=1): (-want +got)\n%s", file, diff)
	}
}

// TestExpressions: operators bind as in MariaDB, whose answers to the same precedence TestPrecedence of package
// fold compares.
func TestExpressions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a OR b AND NOT c = d":              "(a OR (b AND (NOT (c = d))))",
		"a XOR b || c && d":                 "((a XOR b) OR (c AND d))",
		"1 + 2 * 3 - 4":                     `((3:"1" + (3:"2" * 3:"3")) - 3:"4")`,
		"-a.b + - - c":                      "((- a!b) + (- (- c)))",
		"a = b = c <=> d":                   "(((a = b) = c) <=> d)",
		"NOT a LIKE 'x%' ESCAPE '|'":        `(NOT Like(a, 6:"x%", 6:"|") false)`,
		"a NOT LIKE b AND c NOT REGEXP 'x'": `(Like(a, b) true AND Regexp(c, 6:"x") true)`,
		"a BETWEEN 1 AND 2 AND b":           `(Between(a, 3:"1", 3:"2") false AND b)`,
		"a NOT IN (1, 'two', NULL)":         `In(a, 3:"1", 6:"two", 0:"") true`,
		"a IS NOT NULL IS TRUE":             "Is(Is(a) true 0) false 1",
		"a != 1 MOD 2 DIV 3 % b":            `(a <> (((3:"1" % 3:"2") DIV 3:"3") % b))`,
		"CASE a WHEN 1 THEN 'x' ELSE b END": `Case(a, 3:"1", 6:"x", b)`,
		"CASE WHEN a THEN b END":            "Case(a, b)",
		"COUNT(*) + count(DISTINCT a, b)":   "(COUNT*() + COUNT DISTINCT(a, b))",
		"GROUP_CONCAT(DISTINCT a ORDER BY b DESC, c SEPARATOR ', ')": `GROUP_CONCAT DISTINCT(a) by btrue by cfalse sep ", "`,
		"d + INTERVAL 1 DAY - INTERVAL x MONTH":                      `DATE_SUB(DATE_ADD(d, 3:"1")DAY, x)MONTH`,
		"INTERVAL 1 DAY + d":                                         `DATE_ADD(d, 3:"1")DAY`,
		"DATE_ADD(d, INTERVAL -1 HOUR)":                              `DATE_ADD(d, (- 3:"1"))HOUR`,
		"SUBSTRING(a FROM 2 FOR 3)":                                  `SUBSTRING(a, 3:"2", 3:"3")`,
		"TRIM(LEADING 'x' FROM a)":                                   `LTRIM(a, 6:"x")`,
		"TRIM(a)":                                                    "TRIM(a)",
		"EXTRACT(YEAR FROM d)":                                       "EXTRACT(d)YEAR",
		"CAST(a AS DECIMAL(10,2))":                                   "Cast(a) {DECIMAL 10 2}",
		"CONVERT(a, UNSIGNED INTEGER)":                               "Cast(a) {UNSIGNED -1 -1}",
		"a COLLATE utf8mb4_BIN = b":                                  "(Collate(a) utf8mb4_bin = b)",
		"DATE '2024-02-29' < TIMESTAMP'2024-01-01 00:00:00'":         `(8:"2024-02-29" < 10:"2024-01-01 00:00:00")`,
		"DATE(d) = date":                                             "(DATE(d) = date)",
		"LEFT(a, 1) = IF(b, 1, 2)":                                   `(LEFT(a, 3:"1") = IF(b, 3:"1", 3:"2"))`,
		"s.t.c + `a``b`.`select`":                                    "(s.t!c + a`b!select)",
		`'it''s' "a\n\"\%" 'x'`:                                      `6:"it'sa\n\"\\%x"`,
		"x'4142' = 0x4":                                              `(7:"AB" = 11:"\x04")`,
		"1.5 + .5 + 1e-3 + 1.":                                       `(((4:"1.5" + 4:".5") + 5:"1e-3") + 4:"1.")`,
		"a -- b\n + /* c */ :p # d":                                  "(a + :p)",
		"!a AND +b":                                                  "((NOT a) AND b)",
		"(((a)))":                                                    "a",
	} {
		q, err := Parse("SELECT " + text + "\nFROM t")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := print(q.Selects[0].Items[0].X); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestQueries: all clauses of a query are read.
func TestQueries(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, text := range []string{
		"SELECT * FROM plt_fund.vs_withdraw;",
		"SELECT DISTINCT o.*, s.t.*, a + 1, b AS `my b`, c d, 2 AS 'two' FROM o",
		"SELECT a FROM o JOIN u AS x ON x.id = o.user_id LEFT OUTER JOIN s.p USING (sku, day) RIGHT JOIN q ON q.a = p.a AND q.b > 1 FULL JOIN z ON z.a = 1 = o.a",
		"SELECT a, COUNT(*) n FROM o WHERE b > 1 GROUP BY a, b + 1 HAVING n > 2 ORDER BY n DESC, 1 LIMIT 10 OFFSET 5",
		"SELECT a FROM o UNION ALL SELECT b FROM p UNION SELECT c FROM q ORDER BY 1 LIMIT 5, 10",
		"(SELECT a FROM o ORDER BY a LIMIT 1) UNION (SELECT b FROM p)",
		"((SELECT a FROM o))",
		"SELECT x.a FROM (SELECT a, 1 FROM o WHERE a LIKE 'x') x JOIN (SELECT b FROM p) AS y ON x.a = y.b",
	} {
		q, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		fmt.Fprintf(&out, "== %s\n%s", text, printQuery(q, ""))
	}
	golden(t, "testdata/queries.golden", out.String())
}

// TestMistakes: every mistake has its place and a remedy.
func TestMistakes(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, text := range []string{
		"", "SELECT", "SELECT a", "DELETE FROM o", "SELECT a FROM", "SELECT a FROM o WHERE", "SELECT a, FROM o",
		"SELECT a FROM o, p", "SELECT a FROM o CROSS JOIN p", "SELECT a FROM o NATURAL JOIN p", "SELECT STRAIGHT_JOIN o.a FROM o", "SELECT a FROM o STRAIGHT_JOIN p", "SELECT a FROM o JOIN p",
		"SELECT a FROM (o JOIN p ON o.a = p.a)", "SELECT a FROM (SELECT b FROM o)",
		"SELECT SUM(a) OVER (PARTITION BY b) FROM o", "SELECT a FROM o WHERE a IN (SELECT b FROM p)",
		"SELECT (SELECT 1 FROM p) FROM o", "SELECT a FROM o WHERE EXISTS (SELECT 1 FROM p)", "SELECT a FROM o WHERE a = ANY (SELECT 1 FROM p)",
		"WITH x AS (SELECT 1) SELECT a FROM x", "SELECT a FROM o INTERSECT SELECT b FROM p", "SELECT a FROM o FOR UPDATE",
		"SELECT a INTO x FROM o", "SELECT a | b FROM o", "SELECT a << 1 FROM o", "SELECT @a FROM o", "SELECT a FROM o WHERE a = ?",
		"SELECT a FROM o GROUP BY a WITH ROLLUP", "SELECT a FROM o LIMIT x", "SELECT a FROM o; SELECT b FROM o", "SELECT a FROM o SELECT b FROM o",
		"SELECT a\nFROM o\n  WHERE 'ä' = 'ö' AND b = 'c", "SELECT `a FROM o", "SELECT a /* b FROM o", "SELECT 1a FROM o", "SELECT x'4' FROM o",
		"SELECT (a, b) FROM o", "SELECT a FROM o WHERE (a = 1", "SELECT a FROM o WHERE a = 1)", "SELECT CASE a END FROM o",
		"SELECT CAST(a AS JSON) FROM o", "SELECT CAST(a AS DECIMAL(x)) FROM o", "SELECT a + INTERVAL 1 FORTNIGHT FROM o", "SELECT a IS 1 FROM o",
		"SELECT order FROM o", "SELECT a AS select FROM o", "SELECT a FROM o WHERE a = b c", "SELECT CONVERT(a USING latin1) FROM o",
		"SELECT GROUP_CONCAT(a SEPARATOR 1) FROM o", "SELECT a FROM o JOIN p USING (a", "SELECT \xff FROM o",
		"SELECT b.title l.due_on, c FROM o", "SELECT a b c FROM o", "SELECT a COUNT(*) FROM o", "SELECT a 'x' 1 FROM o", "SELECT a b\n  c.d FROM o",
		"SELECT a b AS c FROM o", "SELECT a FORM o WHERE a = 1", "SELECT a b WHERE c = 1", "SELECT BINARY (a) FROM o", "SELECT a b + 1 FROM o",
		"SELECT a FROM o WHERE a == NULL", "SELECT a = = 1 FROM o", "SELECT BINARY txt = 'e' FROM o", "SELECT a FROM o WHERE BINARY txt = 'e'",
		"SELECT a FROM o WHERE txt = BINARY 'e'", "SELECT a = BINARY b = c FROM o",
		"SELECT CASE WHEN a > 1 THEN 'none WHEN a > 2 THEN 'high' END AS x, 'y' FROM o", "SELECT 'none AS x, 'high' AS y FROM o WHERE n = 'z'",
		"SELECT a FROM o WHERE a IN ('b, 'c', 'd)", "SELECT a FROM o WHERE a = 'it's' OR a = 'b'", `SELECT a FROM o WHERE a = "none AND b = "x"`,
		"SELECT a + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 FROM o",
		"SELECT " + strings.Repeat("(", 300) + "a" + strings.Repeat(")", 300) + " FROM o", "SELECT " + strings.Repeat("NOT ", 300) + "a FROM o",
	} {
		q, err := Parse(text)
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v, %v", text, q, err)
			continue
		}
		if wrong.Remedy == "" || wrong.Line < 1 || wrong.Column < 1 {
			t.Errorf("%s: %+v", text, wrong)
		}
		fmt.Fprintf(&out, "%d:%d: %s\n    %.100q\n", wrong.Line, wrong.Column, wrong, text)
	}
	golden(t, "testdata/mistakes.golden", out.String())
}

// FuzzParse: no text makes Parse panic, and every mistake has its place in the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"SELECT a, COUNT(*) FROM o JOIN p ON o.a = p.a WHERE a LIKE 'x' GROUP BY a HAVING b ORDER BY 1 LIMIT 1",
		"SELECT a FROM (SELECT b FROM c) d UNION ALL (SELECT x'41', 1.5e3, CASE WHEN a THEN b END FROM e)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse(text)
		var wrong *Error
		if err == nil {
			return
		}
		if !errors.As(err, &wrong) || wrong.Line > strings.Count(text, "\n")+1 {
			t.Errorf("%v", err)
		}
	})
}
