package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// TestTypes has for every type its boundaries, and what is written for them.
func TestTypes(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE EXTENSION citext", "CREATE EXTENSION hstore", "CREATE TYPE colour AS ENUM ('red', 'dark blue')",
		"CREATE TYPE pair AS (a int, b text)", "CREATE DOMAIN price AS numeric(8,2)")
	types := []struct {
		column string         // type
		want   dataset.Column // without name and, of texts and documents, collation
		values []string       // SQL
		json   string         // without the null at the end
	}{
		{"smallint", dataset.Column{Kind: report.KindInteger}, []string{"-32768", "32767"}, `-32768,32767`},
		{"int", dataset.Column{Kind: report.KindInteger}, []string{"-2147483648", "2147483647"}, `-2147483648,2147483647`},
		{"bigint", dataset.Column{Kind: report.KindInteger}, []string{"-9223372036854775808", "9223372036854775807"}, `-9223372036854775808,9223372036854775807`},
		{"oid", dataset.Column{Kind: report.KindInteger}, []string{"4294967295", "0"}, `4294967295,0`},
		{"boolean", dataset.Column{Kind: report.KindInteger}, []string{"true", "false"}, `1,0`},
		{"numeric(12,4)", dataset.Column{Kind: report.KindDecimal, Digits: 12, Scale: 4}, []string{"-99999999.9999", "0"}, `"-99999999.9999","0.0000"`},
		{"numeric(3,-2)", dataset.Column{Kind: report.KindDecimal, Digits: 5}, []string{"12345", "0"}, `"12300","0"`},
		{"numeric(2,4)", dataset.Column{Kind: report.KindDecimal, Digits: 4, Scale: 4}, []string{"0.0099", "0"}, `"0.0099","0.0000"`},
		{"numeric(65)", dataset.Column{Kind: report.KindDecimal, Digits: 65}, []string{"1", "0"}, `"1","0"`},
		{"numeric(66)", dataset.Column{Kind: report.KindDecimal}, []string{"1", "0"}, `"1","0"`},
		{"numeric", dataset.Column{Kind: report.KindDecimal}, []string{"1e20", "-0.000000000000000000000000000000001"}, `"100000000000000000000","-0.000000000000000000000000000000001"`},
		{"price", dataset.Column{Kind: report.KindDecimal, Digits: 8, Scale: 2}, []string{"1", "2.5"}, `"1.00","2.50"`},
		{"real", dataset.Column{Kind: report.KindFloat, Bits: 32}, []string{"0.1", "-3.4028235e38"}, `0.1,-3.4028235e38`},
		{"double precision", dataset.Column{Kind: report.KindFloat}, []string{"0.1", "-1.7976931348623157e308"}, `0.1,-1.7976931348623157e308`},
		{"date", dataset.Column{Kind: report.KindDate}, []string{"'9999-12-31'", "'0001-01-01'"}, `"9999-12-31","0001-01-01"`},
		{"time", dataset.Column{Kind: report.KindTime}, []string{"'24:00:00'", "'01:02:03.450'"}, `"24:00:00","01:02:03.45"`},
		{"time(0)", dataset.Column{Kind: report.KindTime, Fixed: true}, []string{"'00:00:00'", "'01:02:03'"}, `"00:00:00","01:02:03"`},
		{"timetz", dataset.Column{Kind: report.KindText}, []string{"'01:02:03+05:30'", "'23:59:59.5-08'"}, `"01:02:03+05:30","23:59:59.5-08"`},
		{"timestamp", dataset.Column{Kind: report.KindDatetime, Zone: "Europe/Berlin"}, []string{"'9999-12-31 23:59:59.999999'", "'0001-01-01 00:00:00'"}, `"9999-12-31 23:59:59.999999","0001-01-01 00:00:00"`},
		{"timestamp(0)", dataset.Column{Kind: report.KindDatetime, Zone: "Europe/Berlin", Fixed: true}, []string{"'2024-02-29 12:00:00'", "'2024-01-01'"}, `"2024-02-29 12:00:00","2024-01-01 00:00:00"`},
		{"timestamptz", dataset.Column{Kind: report.KindDatetime}, []string{"'2024-07-01 12:00:00.25+02'", "'1883-01-01 00:00:00 America/New_York'"}, `"2024-07-01 10:00:00.25","1883-01-01 04:56:02"`},
		{"timestamptz(0)", dataset.Column{Kind: report.KindDatetime, Fixed: true}, []string{"'2024-07-01 12:00:00+02'", "'2024-01-01'"}, `"2024-07-01 10:00:00","2023-12-31 15:00:00"`},
		{"interval", dataset.Column{Kind: report.KindText}, []string{"'1 year 2 mons -3 days 04:05:06.7'", "'0'"}, `"1 year 2 mons -3 days +04:05:06.7","00:00:00"`},
		{"text", dataset.Column{Kind: report.KindText}, []string{"'漢字 😀🏳️‍🌈 \"x\"'", "''"}, `"漢字 😀🏳️‍🌈 \"x\"",""`},
		{"varchar(50)", dataset.Column{Kind: report.KindText}, []string{"'ab '", "E'\\\\\\n\\t'"}, `"ab ","\\\n\t"`},
		{"char(5)", dataset.Column{Kind: report.KindText}, []string{"'ab'", "''"}, `"ab",""`},
		{"name", dataset.Column{Kind: report.KindText}, []string{"'ab'", "''"}, `"ab",""`},
		{`"char"`, dataset.Column{Kind: report.KindText}, []string{"'a'", "'b'"}, `"a","b"`},
		{"citext", dataset.Column{Kind: report.KindText, Collation: "citext"}, []string{"'Ab'", "''"}, `"Ab",""`},
		{"colour", dataset.Column{Kind: report.KindText}, []string{"'red'", "'dark blue'"}, `"red","dark blue"`},
		{"uuid", dataset.Column{Kind: report.KindText}, []string{"'123E4567-e89b-12d3-a456-426614174000'", "'{00000000-0000-0000-0000-000000000000}'"}, `"123e4567-e89b-12d3-a456-426614174000","00000000-0000-0000-0000-000000000000"`},
		{"json", dataset.Column{Kind: report.KindJSON}, []string{`'{"b":1.50, "a":[1,"é"]}'`, `'null'`}, `"{\"b\":1.50, \"a\":[1,\"é\"]}","null"`},
		{"jsonb", dataset.Column{Kind: report.KindJSON}, []string{`'{"b":1.50,"a":[1,"é"]}'`, `'null'`}, `"{\"a\": [1, \"é\"], \"b\": 1.50}","null"`},
		{"bytea", dataset.Column{Kind: report.KindBinary}, []string{`'\x00ff27'`, "''"}, `"AP8n",""`},
		{"inet", dataset.Column{Kind: report.KindText}, []string{"'10.0.0.1'", "'2001:db8::1/64'"}, `"10.0.0.1","2001:db8::1/64"`},
		{"cidr", dataset.Column{Kind: report.KindText}, []string{"'10.0.0.0/8'", "'::/0'"}, `"10.0.0.0/8","::/0"`},
		{"macaddr", dataset.Column{Kind: report.KindText}, []string{"'08:00:2B:01:02:03'", "'080000-000000'"}, `"08:00:2b:01:02:03","08:00:00:00:00:00"`},
		{"money", dataset.Column{Kind: report.KindText}, []string{"1234.5", "-1"}, `"$1,234.50","-$1.00"`},
		{"bit(3)", dataset.Column{Kind: report.KindText}, []string{"B'101'", "B'000'"}, `"101","000"`},
		{"xml", dataset.Column{Kind: report.KindText}, []string{"'<a>é</a>'", "'<b/>'"}, `"<a>é</a>","<b/>"`},
		{"tsvector", dataset.Column{Kind: report.KindText}, []string{"'b a'", "''"}, `"'a' 'b'",""`},
		{"point", dataset.Column{Kind: report.KindText}, []string{"'(1,2.5)'", "'(0,0)'"}, `"(1,2.5)","(0,0)"`},
		{"hstore", dataset.Column{Kind: report.KindText}, []string{"'a=>1'", "''"}, `"\"a\"=>\"1\"",""`},
		{"pair", dataset.Column{Kind: report.KindText}, []string{"(1, 'x y')", "(NULL, '')"}, `"(1,\"x y\")","(,\"\")"`},
		{"int4range", dataset.Column{Kind: report.KindText}, []string{"'[1,5]'", "'empty'"}, `"[1,6)","empty"`},
		{"tstzrange", dataset.Column{Kind: report.KindText}, []string{"'[2024-01-01 00:00+01,)'", "'(,)'"}, `"[\"2023-12-31 23:00:00+00\",)","(,)"`},
		{"int4multirange", dataset.Column{Kind: report.KindText}, []string{"'{[1,2],[5,6]}'", "'{}'"}, `"{[1,3),[5,7)}","{}"`},
		{"int[]", dataset.Column{Kind: report.KindJSON}, []string{"'{1,NULL,-3}'", "'{}'"}, `"[1,null,-3]","[]"`},
		{"int[][]", dataset.Column{Kind: report.KindJSON}, []string{"'[0:1][2:3]={{1,2},{3,4}}'", "'{}'"}, `"[[1,2],[3,4]]","[]"`},
		{"text[]", dataset.Column{Kind: report.KindJSON}, []string{`ARRAY['a b', 'NULL', NULL, '', '{"x,\', 'null']`, `ARRAY['é', E'\n']`}, `"[\"a b\",\"NULL\",null,\"\",\"{\\\"x,\\\\\",\"null\"]","[\"é\",\"\\n\"]"`},
		{"numeric[]", dataset.Column{Kind: report.KindJSON}, []string{"'{1.50,NaN}'", "'{-0.1}'"}, `"[1.50,\"NaN\"]","[-0.1]"`},
		{"float8[]", dataset.Column{Kind: report.KindJSON}, []string{"'{1e300,-Infinity}'", "'{0.5}'"}, `"[1e+300,\"-Infinity\"]","[0.5]"`},
		{"boolean[]", dataset.Column{Kind: report.KindJSON}, []string{"'{t,f,NULL}'", "'{}'"}, `"[true,false,null]","[]"`},
		{"jsonb[]", dataset.Column{Kind: report.KindJSON}, []string{`ARRAY['{"a":"x\"y"}', 'null']::jsonb[]`, "'{}'"}, `"[{\"a\": \"x\\\"y\"},null]","[]"`},
		{"timestamptz[]", dataset.Column{Kind: report.KindJSON}, []string{"'{2024-01-01 00:00+01}'", "'{}'"}, `"[\"2023-12-31 23:00:00+00\"]","[]"`},
		{"colour[]", dataset.Column{Kind: report.KindJSON}, []string{"'{red,\"dark blue\"}'", "'{}'"}, `"[\"red\",\"dark blue\"]","[]"`},
		{"price[]", dataset.Column{Kind: report.KindJSON}, []string{"'{1,2}'", "'{}'"}, `"[1.00,2.00]","[]"`},
		{"box[]", dataset.Column{Kind: report.KindText}, []string{"'{(1,1),(0,0)}'", "'{}'"}, `"{(1,1),(0,0)}","{}"`},
	}
	b.exec(t, "ALTER DATABASE "+b.database+" SET timezone = 'Asia/Tokyo'")
	for i, test := range types {
		table := fmt.Sprintf("t%d", i)
		b.exec(t, "CREATE TABLE "+table+" (i int PRIMARY KEY, v "+test.column+")",
			"INSERT INTO "+table+" VALUES (1, "+test.values[0]+"), (2, "+test.values[1]+"), (3, NULL)")
	}
	// The settings of a role change nothing.
	b.exec(t, "ALTER ROLE postgres IN DATABASE "+b.database+" SET datestyle = 'German'",
		"ALTER ROLE postgres IN DATABASE "+b.database+" SET intervalstyle = 'iso_8601'",
		"ALTER ROLE postgres IN DATABASE "+b.database+" SET bytea_output = 'escape'",
		"ALTER ROLE postgres IN DATABASE "+b.database+" SET extra_float_digits = -5",
		"ALTER ROLE postgres IN DATABASE "+b.database+" SET standard_conforming_strings = off")
	for i, test := range types {
		table := fmt.Sprintf("t%d", i)
		read := task(t, "SELECT v FROM "+table+" ORDER BY i", "v")
		read.Listener.Zone = "Europe/Berlin"
		d, err := b.read(t.Context(), read)
		if err != nil {
			t.Errorf("%s: %v", test.column, err)
			continue
		}
		want := test.want
		if want.Name = "v"; want.Collation == "" && (want.Kind == report.KindText || want.Kind == report.KindJSON) {
			want.Collation = "utf8mb4_nopad_bin"
		}
		if diff := cmp.Diff(want, d.Columns[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.column, diff)
		}
		if got, want := d.JSON("v"), "["+test.json+",null]"; got != want {
			t.Errorf("%s:\n got %s\nwant %s", test.column, got, want)
		}
	}
	d := b.mustRead(t, task(t, `SELECT NULL AS n, count(*) AS c, sum(1) AS s, avg(2) AS a, 1 || 'x' AS t, 1 = 1 AS b, 1e0 AS f, 'a\b' AS k`, "n c s a t b f k"))
	var kinds []string
	for _, c := range d.Columns {
		kinds = append(kinds, string(c.Kind)+" "+d.JSON(c.Name))
	}
	if got, want := strings.Join(kinds, "; "), `text [null]; integer [1]; integer [1]; decimal ["2.0000000000000000"]; text ["1x"]; integer [1]; decimal ["1"]; text ["a\\b"]`; got != want {
		t.Errorf("expressions:\n got %s\nwant %s", got, want)
	}
}

// TestTheRowOfAValueWithoutAForm is named by its number and its key.
func TestTheRowOfAValueWithoutAForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	of := func(keys ...string) *report.Report {
		return &report.Report{Join: report.Join{Keys: []string{"key"}, Listeners: []report.Joined{{Listener: "l", Keys: keys}}}}
	}
	for _, test := range []struct {
		key  string
		of   *report.Report
		want string
	}{
		{"-7::smallint", nil, "column v: row 2 (key -7): NaN"},
		{"2147483647", of(), "column v: row 2 (key 2147483647): NaN"},
		{"(-9223372036854775808)::bigint", nil, "column v: row 2 (key -9223372036854775808): NaN"},
		{"1.50::numeric", nil, "column v: row 2 (key 1.50): NaN"},
		{"repeat('x', 50)", nil, "column v: row 2 (key " + strings.Repeat("x", 39) + "…): NaN"},
		{"NULL::int", nil, "column v: row 2: NaN"},
		{"1.5::float8", nil, "column v: row 2: NaN"},
		{"'a'", of("second"), "column v: row 2 (second b): NaN"},
	} {
		one := task(t, "SELECT "+test.key+" AS key, n AS v, 'b' AS second FROM (VALUES (1, 1::numeric), (2, 'NaN')) t(i, n) ORDER BY i", "key v second")
		one.Report = test.of
		if _, err := b.read(t.Context(), one); !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.key, err, test.want)
		}
	}
}

// TestValuesWithoutAForm: the error says how to write them.
func TestValuesWithoutAForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for value, want := range map[string]string{
		"'infinity'::date": "NULLIF", "'-infinity'::timestamp": "NULLIF", "'infinity'::timestamptz": "NULLIF",
		"'0044-03-15 BC'::date": "within the years", "'0044-03-15 00:00:00 BC'::timestamp": "within the years",
		"'0044-03-15 00:00:00 BC'::timestamptz": "within the years", "'10000-01-01'::date": "within the years",
		"'10000-01-01'::timestamp": "within the years", "'NaN'::numeric": "NULLIF", "'Infinity'::numeric": "NULLIF",
		"'-Infinity'::numeric": "NULLIF", "'NaN'::float8": "NULLIF", "'-Infinity'::real": "NULLIF",
	} {
		_, err := b.read(t.Context(), task(t, "SELECT "+value+" AS v", "v"))
		if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "column v: row 1: ") {
			t.Errorf("%s: %v", value, err)
		}
		if _, err := b.read(t.Context(), task(t, "SELECT ("+value+")::text AS v", "v")); err != nil {
			t.Errorf("%s as text: %v", value, err)
		}
	}
}

// TestCollations: texts compare by their bytes, except those that the server finds equal in another way.
func TestCollations(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (id int, s text, c char(9), u varchar(9) COLLATE \"C\", j jsonb)")
	collations := func(query, columns string) (all []string) {
		t.Helper()
		for _, c := range b.mustRead(t, task(t, query, columns)).Columns {
			all = append(all, c.Collation)
		}
		return all
	}
	const bin = "utf8mb4_nopad_bin"
	if diff := cmp.Diff([]string{"", bin, bin, bin, bin}, collations("SELECT * FROM t", "id s c u j")); diff != "" {
		t.Error(diff)
	}
	unequal := setup(t, "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
		"CREATE TABLE t (id int, s text, l text COLLATE loose, j jsonb)", "INSERT INTO t VALUES (1, 'a', 'A', '1')")
	b = unequal
	if diff := cmp.Diff([]string{"", bin, "loose", "loose", bin, bin},
		collations("SELECT id, s, l, lower(l) AS low, l COLLATE \"C\" AS c, j FROM t WHERE l = 'a' OR id < 5; -- newest first",
			"id s l low c j")); diff != "" {
		t.Error(diff)
	}
}
