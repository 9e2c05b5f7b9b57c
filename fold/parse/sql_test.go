package parse

import (
	"strings"
	"testing"
)

// TestShort: an expression is shown as SQL that means the same, with the parentheses that it needs.
func TestShort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"d >= :x AND (:branch = 'all' OR l.branch = :branch)": "",
		"a.num - (a.id - 1) > 3":                              "",
		"(a.num + a.id) * 2":                                  "",
		"a.num <=> NULL":                                      "",
		"'2024-01-01' + INTERVAL 1 DAY":                       "DATE_ADD('2024-01-01', INTERVAL 1 DAY)",
		"a - INTERVAL b + 1 MONTH":                            "DATE_SUB(a, INTERVAL b + 1 MONTH)",
		"EXTRACT(YEAR FROM a.d)":                              "",
		"TIMESTAMPDIFF(DAY, a, b)":                            "",
		"NOT a":                                               "",
		"NOT (a AND b)":                                       "",
		"!a = b":                                              "(NOT a) = b",
		"NOT a = b":                                           "",
		"a AND NOT b OR c XOR d":                              "",
		"a AND (b AND c)":                                     "",
		"a OR b OR c":                                         "",
		"(a OR b) AND c":                                      "",
		"a = b = c":                                           "(a = b) = c",
		"a = (b = c)":                                         "",
		"(a OR b) IS NOT NULL":                                "",
		"a IS TRUE AND b IS NOT FALSE AND c IS UNKNOWN":   "a IS TRUE AND b IS NOT FALSE AND c IS NULL",
		"a BETWEEN 1 AND 2 + b AND c NOT BETWEEN d AND e": "",
		"a BETWEEN (b AND c) AND d":                       "",
		"a IN (1, 'x', b OR c)":                           "",
		"a + 1 NOT IN (NULL)":                             "",
		"a IN ()":                                         "",
		"a LIKE 'x%' AND b NOT LIKE 'y!%' ESCAPE '!'":     "",
		"a REGEXP 'x' OR b NOT RLIKE 'y'":                 "a REGEXP 'x' OR b NOT REGEXP 'y'",
		"CAST(a AS DECIMAL(10,2)) + CAST(b AS CHAR(3))":   "",
		"CONVERT(a, UNSIGNED INTEGER)":                    "CAST(a AS UNSIGNED)",
		"a COLLATE utf8mb4_bin = 'x' COLLATE utf8mb4_bin": "",
		"(a + b) COLLATE utf8mb4_bin":                     "",
		"(-a) COLLATE utf8mb4_bin":                        "",
		"-a COLLATE utf8mb4_bin":                          "",
		"CASE a + 1 WHEN 1 THEN 'x' ELSE b OR c END":      "",
		"CASE WHEN a = 1 THEN b WHEN c THEN d END + 1":    "",
		"- - a - -1":             "-(-a) - -1",
		"-(a + b)":               "",
		"a / (b * c) / d":        "",
		"a MOD b DIV c":          "a % b DIV c",
		"TRUE AND FALSE OR NULL": "",
		"x'4142' = 0x4":          "x'4142' = 0x04",
		"DATE '2024-02-29' < TIMESTAMP'2024-01-01 00:00:00'": "DATE '2024-02-29' < TIMESTAMP '2024-01-01 00:00:00'",
		"TIME '10:00:00'":                             "",
		`"it's" 'a\n\%\\'`:                            `'it''sa\n\\%\\'`,
		"'a\x00\t\r\n\b\x1a'":                         `'a\0\t\r\n\b\Z'`,
		"s.t.c + `a``b`.`select` + `1st`":             "",
		"`any`.a = `some` AND a = `any`.b":            "",
		"`s.t-u`.c":                                   "s.`t-u`.c",
		"TRIM(a) = TRIM(`leading`)":                   "",
		"TRIM(LEADING 'x' FROM a)":                    "",
		"TRIM(BOTH 'x' FROM TRIM(TRAILING b FROM a))": "TRIM('x' FROM TRIM(TRAILING b FROM a))",
		"POSITION('a' IN b)":                          "LOCATE('a', b)",
		"SUBSTRING(a FROM 2 FOR 3)":                   "SUBSTRING(a, 2, 3)",
		"ADDDATE(a, 3)":                               "DATE_ADD(a, INTERVAL 3 DAY)",
		"COUNT(*) + COUNT(DISTINCT a, b)":             "",
		"GROUP_CONCAT(DISTINCT a ORDER BY b DESC, c SEPARATOR ', ''')": "",
		"NOW() > a": "",
	} {
		if want == "" {
			want = text
		}
		x := expressionOf(t, text)
		got := Short(x)
		if got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
		if again := Canonical(expressionOf(t, got)); again != Canonical(x) {
			t.Errorf("%s is shown as %s, which means %s", text, got, again)
		}
	}
	long := Short(expressionOf(t, "a IN (1"+strings.Repeat(", 1000", 1000)+")"))
	if len([]rune(long)) != maxShort || !strings.HasSuffix(long, "…") {
		t.Errorf("a long expression is shown as %s", long)
	}
}

func expressionOf(t *testing.T, text string) Expr {
	t.Helper()
	q, err := Parse("SELECT " + text + " AS x FROM t")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return q.Selects[0].Items[0].X
}

// FuzzSQL: the text of every expression that Parse reads means the same as the expression.
func FuzzSQL(f *testing.F) {
	for _, text := range []string{
		"a + 1 IN (2, 'x') AND NOT b BETWEEN c AND d OR e IS NULL", "CASE a WHEN x'41' THEN 1.5e3 ELSE CAST(b AS CHAR(3)) END",
		"GROUP_CONCAT(DISTINCT a ORDER BY b DESC SEPARATOR '') + INTERVAL -1 DAY", "TRIM(LEADING `x` FROM a.`b-c`) LIKE '\\%' ESCAPE '!'",
		"COUNT(*) - EXTRACT(YEAR FROM DATE '2024-01-01') DIV TIMESTAMPDIFF(DAY, a, b) COLLATE utf8mb4_bin",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse("SELECT a FROM t WHERE " + text + "\n")
		if err != nil || q.Selects[0].Where == nil {
			return
		}
		x := q.Selects[0].Where
		again, err := Parse("SELECT a FROM t WHERE " + SQL(x))
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, SQL(x), err)
		}
		if Canonical(again.Selects[0].Where) != Canonical(x) {
			t.Fatalf("%q is written as %q", text, SQL(x))
		}
	})
}
