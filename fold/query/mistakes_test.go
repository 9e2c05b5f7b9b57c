package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// TestAllMistakes: a query has all of its mistakes at once, in the order of their places, each once. What is wrong
// because of another mistake is none.
func TestAllMistakes(t *testing.T) {
	t.Parallel()
	text := func(collation string, names ...string) *memory {
		m := &memory{}
		for _, name := range names {
			m.columns = append(m.columns, dataset.Column{Name: name, Kind: report.KindText, Collation: collation})
		}
		return m
	}
	at := &memory{columns: []dataset.Column{{Name: "id", Kind: report.KindInteger}, {Name: "d", Kind: report.KindDate},
		{Name: "t", Kind: report.KindTime}}}
	sets := map[string]queries.Dataset{"a": text("utf8mb4_general_ci", "id", "x"), "b": text("utf8mb4_unicode_ci", "id", "y"),
		"c": at}
	for query, want := range map[string][]string{
		"SELECT nope, UPER(x), a.nix FROM a WHERE nope > 1": {"1:8 no table has a column nope", "1:14 a fold has no function UPER",
			"1:23 no table has a column nix", "1:42 no table has a column nope"},
		"SELECT NOSUCH(no, LEFT(nix)) FROM a":                                    {"1:8 a fold has no function NOSUCH", "1:15 no table has", "1:19 LEFT with 1", "1:24 no table has"},
		"SELECT a.x, z.y, z.q + 1 FROM a JOIN zz z ON z.i = a.id":                {"1:38 the report has no listener zz"},
		"SELECT *, no FROM a JOIN zz z ON z.i = a.id ORDER BY 9":                 {"1:26 the report has no listener zz"},
		"SELECT q, s.no FROM (SELECT * FROM zz) s":                               {"1:36 the report has no listener zz"},
		"SELECT * FROM zz UNION SELECT x FROM a":                                 {"1:15 the report has no listener zz"},
		"SELECT q, no FROM (SELECT nix AS q, FOO(x) AS r FROM a) s":              {"1:11 no table has a column no", "1:27 no table has", "1:37 a fold has no function FOO"},
		"SELECT q FROM (SELECT nix FROM a) s WHERE q = 1 AND nix LIKE 'x'":       {"1:23 no table has a column nix"},
		"SELECT x.* FROM a x JOIN b x ON x.id = x.id":                            {"1:26 two tables are called x"},
		"SELECT a.x FROM a JOIN b ON a.x = b.y WHERE a.x = b.y AND b.id < a.id":  {"1:35 texts of the collations", "1:51 texts of the collations", "1:66 texts of the collations"},
		"SELECT MAX(nope), x FROM a GROUP BY nope, UPPR(x) HAVING SUM(x, y) > 1": {"1:12 no table has", "1:37 no table has", "1:43 a fold has no function UPPR", "1:58 SUM with 2", "1:65 no table has"},
		"SELECT COALESCE(d, t) AS a, IF(1, t, d) AS b, CASE WHEN 1 THEN d ELSE t END AS c, IFNULL(d, IFNULL('x', t)) AS e FROM c": {
			"1:8 COALESCE of a date and a time", "1:29 IF of a time and a date", "1:47 CASE of a date and a time"},
		"SELECT id, x, x FROM a GROUP BY id":                                       {"1:12 x has no single value", "1:15 two columns are called x"},
		"SELECT x, SUM(id) FROM a GROUP BY nope HAVING x = 'b'":                    {"1:35 no table has a column nope"},
		"SELECT id FROM a UNION SELECT id, y FROM b UNION SELECT no FROM b":        {"1:24 a UNION of 1 and 2 columns", "1:57 no table has"},
		"SELECT x FROM a UNION SELECT y FROM b ORDER BY z, 4":                      {"1:23 in the column x of a UNION", "1:48 no table has a column z", "1:51 the query has no column 4"},
		"SELECT d = t, CASE WHEN d > '' THEN d < t END, JSON_VALUE(no, id) FROM c": {"1:12 a date is compared with a time", "1:41 a date is compared with a time", "1:59 no table has", "1:63 not a constant path"},
		"SELECT a.id FROM a JOIN b USING (id, no, x) LEFT JOIN c ON b.y > 1":       {"1:34 texts of the collations", "1:38 no table has", "1:42 no table has a column x"},
	} {
		tree, err := parse.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = queries.New(tree, sets, nil)
		wrong, _ := err.(parse.Errors)
		var got []string
		for _, e := range wrong {
			got = append(got, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Error()))
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s:\n%s\nwant\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestTimesAsDates: where MariaDB takes today's date for a time, a fold refuses it; what needs no date has its result.
func TestTimesAsDates(t *testing.T) {
	t.Parallel()
	b := newBench(t, "CREATE TABLE s (id INT PRIMARY KEY, t TIME, ts DATETIME, d DATE)",
		"INSERT INTO s VALUES (1, '26:30:00', '2024-01-02 10:00:00', '2024-01-02'), (2, '-01:00:00', '2024-01-02 10:00:00', '2024-01-02'), (3, '838:59:59', NULL, NULL)")
	b.load("s")
	for item, want := range map[string]string{
		"DATE_FORMAT(t, '%H')": "DATE_FORMAT of a time. Write TIME_FORMAT", "EXTRACT(YEAR FROM t)": "EXTRACT YEAR of a time. A time has no date",
		"EXTRACT(WEEK FROM t)": "EXTRACT WEEK of a time", "CAST(t AS DATE)": "CAST AS DATE of a time", "CAST(t AS DATETIME)": "CAST AS DATETIME of a time",
		"DATE(t)": "DATE of", "TIMESTAMP(t)": "TIMESTAMP of", "YEAR(t)": "YEAR of", "QUARTER(t)": "QUARTER of", "MONTH(t)": "MONTH of", "DAY(t)": "DAY of", "DAYOFMONTH(t)": "DAYOFMONTH of",
		"DAYOFWEEK(t)": "DAYOFWEEK of", "WEEKDAY(t)": "WEEKDAY of", "DAYOFYEAR(t)": "DAYOFYEAR of", "TO_DAYS(t)": "TO_DAYS of", "LAST_DAY(t)": "LAST_DAY of", "WEEK(t)": "WEEK of",
		"YEARWEEK(t)": "YEARWEEK of", "WEEKOFYEAR(t)": "WEEKOFYEAR of", "DAYNAME(t)": "DAYNAME of", "MONTHNAME(t)": "MONTHNAME of", "DATEDIFF(d, t)": "DATEDIFF of", "TIMESTAMPDIFF(HOUR, t, d)": "TIMESTAMPDIFF of",
		"CONVERT_TZ(t, '+00:00', '+02:00')": "CONVERT_TZ of", "DATE(STR_TO_DATE('10:00', '%H:%i'))": "DATE of",
	} {
		if _, _, err := b.run("SELECT "+item+" AS x FROM s", 0); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", item, err, want)
		}
	}
	for _, item := range []string{"TIME_FORMAT(t, '%H:%i|%k')", "TIME_FORMAT(ts, '%H')", "EXTRACT(DAY FROM t)", "HOUR(t)", "TIME(t)", "t + INTERVAL 1 DAY", "t + INTERVAL 1 MONTH", "TIMESTAMPADD(HOUR, 1, t)", "CAST(t AS CHAR)"} {
		if diff := b.compare("SELECT id, "+item+" AS x FROM s ORDER BY id", 0); diff != "" {
			t.Error(diff)
		}
	}
}

// TestTimesBesideDates: a time is compared with a date nowhere, because MariaDB compares it as a time of today.
func TestTimesBesideDates(t *testing.T) {
	t.Parallel()
	b := newBench(t, "CREATE TABLE s (id INT PRIMARY KEY, t TIME, ts DATETIME, d DATE)",
		"INSERT INTO s VALUES (1, '10:00:00', '2024-01-02 10:00:00', '2024-01-02'), (2, '-01:00:00', '2024-01-02 09:00:00', '2024-01-02'), (3, NULL, NULL, NULL)")
	b.load("s")
	const refused = "Write TIME(…) around the one with a date"
	for _, item := range []string{"t < ts", "d = t", "t <=> ts", "t BETWEEN t AND d", "d BETWEEN t AND t", "'2024' BETWEEN t AND ts", "t IN (ts)", "t IN ('x', ts)", "ts NOT IN (ts, t)", "NULLIF(t, ts)",
		"CASE t WHEN ts THEN 1 END", "t < DATE '2024-01-01'", "TIME '10:00:00' = ts"} {
		if _, _, err := b.run("SELECT "+item+" AS x FROM s", 0); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v, want %s", item, err, refused)
		}
	}
	for _, join := range []string{"JOIN s b ON a.t = b.ts", "LEFT JOIN s b ON b.id = a.id AND b.d > a.t", "JOIN (SELECT id, d AS t FROM s) b USING (t)"} {
		if _, _, err := b.run("SELECT a.id FROM s a "+join, 0); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v, want %s", join, err, refused)
		}
	}
	for _, query := range []string{
		"SELECT id, t < TIME(ts) AS a, t IN (TIME(ts), NULL) AS b, t BETWEEN '09:00' AND TIME(ts) AS c, LEAST(t, TIME(ts)) AS e, ts > '2024-01-02 09:30' AS f, t = '10:00' AS g FROM s ORDER BY id",
		"SELECT a.id, b.id AS other FROM s a JOIN s b ON a.t = TIME(b.ts) ORDER BY a.id, other",
	} {
		if diff := b.compare(query, 0); diff != "" {
			t.Error(diff)
		}
	}
}

// TestMessagesOfRanges: a result that is out of range names the type that it does not fit.
func TestMessagesOfRanges(t *testing.T) {
	t.Parallel()
	sets := map[string]queries.Dataset{"s": numbers(1)}
	for x, want := range map[string]string{
		"CAST(id + 1 AS UNSIGNED) - 5":                  "1 - 5 is out of range for an unsigned integer of 64 bits: CAST a side AS DECIMAL(65)",
		"id + 2 + 9223372036854775807":                  "2 + 9223372036854775807 is out of range for an integer of 64 bits: CAST a side AS DECIMAL(65)",
		"CAST(id + 6 AS UNSIGNED) DIV -2":               "6 DIV -2 is out of range for an unsigned integer of 64 bits: Use / instead",
		"POW(id + 10, 400)":                             "10 to the power of 400 is out of range for a double: Use smaller numbers",
		"(id + 1e300) * 1e300":                          "1e+300 * 1e+300 is out of range for a double: Use smaller numbers",
		"-(CAST(id AS UNSIGNED) + 9223372036854775809)": "-9223372036854775809 is out of range for an integer of 64 bits: CAST it AS DECIMAL(65)",
	} {
		plan := planOf(t, "SELECT "+x+" AS x FROM s", sets)
		m := op.NewMemory(t.Context(), 0, nil)
		_, err := plan.Run(m, &counting{})
		m.Close()
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", x, err, want)
		}
	}
}
