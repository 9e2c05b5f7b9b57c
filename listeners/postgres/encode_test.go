package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

func TestManyValuesOfAnEarlierStage(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (id bigint PRIMARY KEY)", "INSERT INTO t SELECT 2 * n FROM generate_series(1, 100000) n")
	var values []string
	for i := 1; i <= 100000; i++ { // more than a statement has placeholders
		values = append(values, strconv.Itoa(i))
		if i%3 == 0 {
			values = append(values, "null", strconv.Itoa(i/2+1))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	read := task(t, "SELECT id FROM t WHERE id IN (:s.v) AND (id > 0 OR id IN (:s.v)) AND :p = 1 ORDER BY id DESC", "id")
	read.Parameters = map[string]any{"p": int64(1)}
	all := b.mustRead(t, listenertest.FromValues(read, report.KindInteger, values...)).Values(t, "id")
	if len(all) != 50000 || all[0] != json.Number("100000") || all[49999] != json.Number("2") {
		t.Errorf("%d rows", len(all))
	}
}

func TestNoValues(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (id int, at timestamp, v bytea)", "INSERT INTO t SELECT n, now(), 'x' FROM generate_series(1, 9) n")
	for _, where := range []string{"id IN (:s.v)", "id NOT IN (:s.v)", "id IN (:s.v) OR TRUE"} {
		d := b.mustRead(t, listenertest.FromValues(task(t, "SELECT id, at, v FROM t WHERE "+where, "id at v"), report.KindInteger, "null", "null"))
		want := []dataset.Column{{Name: "id", Kind: report.KindInteger}, {Name: "at", Kind: report.KindDatetime}, {Name: "v", Kind: report.KindBinary}}
		if diff := cmp.Diff(want, d.Columns); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
		}
		if d.JSON("id") != "[]" {
			t.Errorf("%s: rows without values", where)
		}
	}
	b.mustRead(t, task(t, "SELECT id, at, v FROM t", "id at v")) // the connection can be used again
}

func TestValuesThatFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	broken := errors.New("broken")
	read := task(t, "SELECT 1 AS v WHERE 1 IN (:s.v)", "v")
	if _, err := b.read(t.Context(), listenertest.From(read, dataset.Column{}, func(yield func([]byte, error) bool) {
		_ = yield([]byte("1"), nil) && yield(nil, broken)
	})); !errors.Is(err, broken) || errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("%v", err)
	}
	for _, kind := range []report.Kind{report.KindText, report.KindInteger, report.KindFloat, report.KindBinary, report.KindDatetime} {
		for _, value := range []string{"{}", "[1]", "", `"\x"`, "1 OR 1=1", "-", "1) OR (1=1"} {
			if _, err := b.read(t.Context(), listenertest.FromValues(read, kind, value)); !errors.Is(err, listeners.ErrPermanent) {
				t.Errorf("%s %q: %v", kind, value, err)
			}
		}
	}
	long := `"` + strings.Repeat("x", 1<<20) + `"`
	given := 0
	_, err := b.read(t.Context(), listenertest.From(task(t, "SELECT 1 AS v WHERE 'a' IN (:s.v)", "v"), dataset.Column{Kind: report.KindText},
		func(yield func([]byte, error) bool) {
			for given = range 200 {
				if !yield([]byte(strings.Replace(long, "xxxx", fmt.Sprintf("%04d", given), 1)), nil) {
					return
				}
			}
		}))
	if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "64 MiB") || given > 64 {
		t.Errorf("after %d MiB: %v", given, err)
	}
}

// TestValuesOfOtherTypes: a value finds what it equals, whatever the type of the column that it comes from.
func TestValuesOfOtherTypes(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE EXTENSION citext", "CREATE TYPE colour AS ENUM ('red', 'blue')",
		"CREATE TABLE t (n smallint, i int, b bigint, d numeric(9,2), f float8, r real, s text, m citext, v varchar(9), "+
			"y boolean, u uuid, c colour, day date, wall timestamp, at timestamptz, raw bytea)",
		"INSERT INTO t VALUES (7, 7, 7, 7.50, 0.10000000149011612, 0.1, 'a,\"b\\', 'Ab', '7', true, "+
			"'00000000-0000-0000-0000-000000000001', 'red', '2024-07-01', '2024-07-01 12:00:00', '2024-07-01 10:00:00+00', '\\x00ff')")
	for _, test := range []struct {
		where  string
		column dataset.Column
		value  string
		found  bool
	}{
		{"n IN (:s.v)", dataset.Column{Kind: report.KindInteger}, "7", true},
		{"n IN (:s.v)", dataset.Column{Kind: report.KindInteger}, "65543", false}, // 2^16 + 7: out of range
		{"n NOT IN (:s.v)", dataset.Column{Kind: report.KindInteger}, "65543", true},
		{"i IN (:s.v)", dataset.Column{Kind: report.KindInteger}, "4294967303", false},
		{"b IN (:s.v)", dataset.Column{Kind: report.KindInteger}, "18446744073709551615", false},
		{"i IN (:s.v)", dataset.Column{Kind: report.KindDecimal}, `"7.00"`, true},
		{"i IN (:s.v)", dataset.Column{Kind: report.KindDecimal}, `"7.01"`, false},
		{"i IN (:s.v)", dataset.Column{Kind: report.KindText}, `"7"`, true},
		{"i::text IN (:s.v)", dataset.Column{Kind: report.KindText}, `"x"`, false},
		{"d IN (:s.v)", dataset.Column{Kind: report.KindFloat}, "7.5", true},
		{"d IN (:s.v)", dataset.Column{Kind: report.KindDecimal}, `"7.5"`, true},
		{"f IN (:s.v)", dataset.Column{Kind: report.KindFloat, Bits: 32}, "0.1", true},
		{"f IN (:s.v)", dataset.Column{Kind: report.KindFloat}, "0.1", false},
		{"r IN (:s.v)", dataset.Column{Kind: report.KindFloat, Bits: 32}, "0.1", true},
		{"s IN (:s.v)", dataset.Column{Kind: report.KindText}, `"a,\"b\\"`, true},
		{"s IN (:s.v)", dataset.Column{Kind: report.KindText}, `"a\u0000"`, false},
		{"m IN (:s.v)", dataset.Column{Kind: report.KindText}, `"aB"`, true},
		{"v IN (:s.v)", dataset.Column{Kind: report.KindInteger}, "7", true},
		{"y IN (:s.v)", dataset.Column{Kind: report.KindInteger}, "1", true},
		{"y IN (:s.v)", dataset.Column{}, "true", true},
		{"u IN (:s.v)", dataset.Column{Kind: report.KindText}, `"00000000-0000-0000-0000-000000000001"`, true},
		{"c IN (:s.v)", dataset.Column{Kind: report.KindText}, `"red"`, true},
		{"day IN (:s.v)", dataset.Column{Kind: report.KindDate}, `"2024-07-01"`, true},
		{"day NOT IN (:s.v)", dataset.Column{Kind: report.KindDate}, `"0000-00-00"`, true},
		{"day::text IN (:s.v)", dataset.Column{Kind: report.KindDate}, `"2024-07-01"`, true},
		{"wall IN (:s.v)", dataset.Column{Kind: report.KindDatetime, Zone: "Europe/Berlin"}, `"2024-07-01 12:00:00.000"`, true},
		{"wall IN (:s.v)", dataset.Column{Kind: report.KindDatetime}, `"2024-07-01 10:00:00"`, true},
		{"at IN (:s.v)", dataset.Column{Kind: report.KindDatetime}, `"2024-07-01 10:00:00.000000"`, true},
		{"at IN (:s.v)", dataset.Column{Kind: report.KindDatetime, Zone: "Asia/Tokyo"}, `"2024-07-01 19:00:00"`, true},
		{"raw IN (:s.v)", dataset.Column{Kind: report.KindBinary}, `"AP8="`, true},
		{"s IN (:s.v)", dataset.Column{Kind: report.KindBinary}, `"YSwiYlw="`, true},
	} {
		read := listenertest.From(task(t, "SELECT 1 AS found FROM t WHERE "+test.where, "found"), test.column,
			func(yield func([]byte, error) bool) { yield([]byte(test.value), nil) })
		read.Listener.Zone = "Europe/Berlin"
		if d, err := b.read(t.Context(), read); err != nil || (d.JSON("found") == "[1]") != test.found {
			t.Errorf("%s, %s of %+v: %v, %v", test.where, test.value, test.column, d.Rows, err)
		}
	}
}

// TestOneZoneForATask: a value does not load the time zone of its column, which needs more than 20 allocations.
func TestOneZoneForATask(t *testing.T) {
	const values = 100
	column := dataset.Column{Kind: report.KindDatetime, Zone: "Europe/Berlin"}
	r := reader{zone: time.UTC, task: listenertest.From(task(t, "SELECT :s.v AS v", "v"), column,
		func(yield func([]byte, error) bool) {
			for i := range values {
				if !yield(fmt.Appendf(nil, `"2024-07-01 12:00:%02d.%d"`, i%60, i), nil) {
					return
				}
			}
		})}
	allocations := testing.AllocsPerRun(5, func() {
		if _, list, err := r.earlier(t.Context(), pgtype.TimestampOID); err != nil || !list {
			t.Fatal(list, err)
		}
	})
	if allocations > 20*values {
		t.Errorf("%.0f allocations for %d values", allocations, values)
	}
}

// TestElements: the server reads each element as it was.
func TestElements(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rapid.Check(t, func(r *rapid.T) {
		all := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("'\"\\{},NULL \n\r\t"))))).Draw(r, "texts")
		var list []any
		for _, text := range all {
			list = append(list, strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""))
		}
		if len(list) == 0 {
			return
		}
		read := task(t, "SELECT unnest(:list::text[]) AS one, :list::text[] AS all", "one all")
		read.Parameters = map[string]any{"list": list}
		d := b.mustRead(t, read)
		if diff := cmp.Diff(list, d.Values(t, "one")); diff != "" {
			r.Fatal(diff)
		}
		var whole []any
		if err := json.Unmarshal([]byte(d.Values(t, "all")[0].(string)), &whole); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(list, whole); diff != "" {
			r.Fatal(diff)
		}
	})
}

// FuzzArray: whatever a server sends becomes valid JSON or an error.
func FuzzArray(f *testing.F) {
	for _, seed := range []string{"{}", "{1,NULL}", `{"a\"b",c}`, "[0:1]={{1},{2}}", "{", "}", "{}{", `{"`, "[", "{a\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := appendArray(nil, []byte(text), 25)
		if err == nil && text == strings.ToValidUTF8(text, "") && strings.Count(text, ",") == 0 && !json.Valid(out) {
			t.Errorf("%q became %q", text, out)
		}
	})
}

// FuzzDSN: every DSN without a mistake can be opened.
func FuzzDSN(f *testing.F) {
	for _, seed := range []string{
		"postgres://u:p@h:5432/d", "postgresql://u@/d?host=/run", "postgres://u:p@[::1]:1/d%20x?sslmode=require", "postgres://", "postgres://@/",
		"postgres://u@h/d?connect_timeout=1&search_path=a", "postgres://u@[fe80::1%25eth0]/d", "postgres://u@h/d?=&a", "postgres://u:p@x@h/d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if badDSN(text) != nil {
			return
		}
		if _, err := ConnectConfig(report.Database{DSN: report.Secret(text)}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		with := addPassword(text, "p@/:?#% x")
		if d, wrong := parseDSN(with); wrong != nil || d.password != "p@/:?#% x" {
			t.Errorf("%q: with a password %+v, %v", text, d, wrong)
		}
	})
}
