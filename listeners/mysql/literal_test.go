package mysql

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

func TestManyValuesOfAnEarlierStage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY)", "INSERT INTO t SELECT seq * 2 FROM seq_1_to_100000")
	var values []string
	for i := 1; i <= 100000; i++ { // more than a statement has placeholders
		values = append(values, strconv.Itoa(i))
		if i%3 == 0 {
			values = append(values, "null", strconv.Itoa(i/2+1))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	read := task(t, "SELECT id FROM t WHERE id IN (:s.v) AND (id > 0 OR id IN (:s.v)) AND :p = 1", "id")
	read.Parameters = map[string]any{"p": int64(1)}
	found := map[any]int{}
	all := b.mustRead(t, from(read, values...)).Values(t, "id")
	for _, id := range all {
		found[id]++
	}
	if len(all) != 50000 || len(found) != 50000 {
		t.Errorf("%d rows, %d of them distinct", len(all), len(found))
	}
}

func TestTheQueryDecidesTheOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t SELECT seq FROM seq_1_to_9")
	read := task(t, "SELECT id FROM t WHERE id IN (:s.v) ORDER BY id DESC", "id")
	got := b.mustRead(t, from(read, "9", "null", "9", "3", "9", "5", "1", "3", "2")).JSON("id")
	if got != "[9,5,3,2,1]" {
		t.Error(got)
	}
}

func TestNoValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (id INT, at DATETIME(6), v BLOB)", "INSERT INTO t SELECT seq, NOW(6), 'x' FROM seq_1_to_5000")
	for _, where := range []string{"id IN (:s.v)", "id IN (:s.v) OR TRUE"} {
		d := b.mustRead(t, from(task(t, "SELECT id, at, v FROM t WHERE "+where, "id at v"), "null", "null"))
		want := []dataset.Column{{Name: "id", Kind: report.KindInteger}, {Name: "at", Kind: report.KindDatetime, Fixed: true, Scale: 6}, {Name: "v", Kind: report.KindBinary}}
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
	read := task(t, "SELECT 1 AS v FROM DUAL WHERE 1 IN (:s.v)", "v")
	if _, err := b.read(t.Context(), listenertest.From(read, dataset.Column{}, func(yield func([]byte, error) bool) {
		_ = yield([]byte("1"), nil) && yield(nil, broken)
	})); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	for _, kind := range []report.Kind{report.KindText, report.KindInteger, report.KindFloat, report.KindBinary} {
		for _, value := range []string{"{}", "[1]", "", `"\x"`, "1 OR 1=1", "-", "1) OR (1=1"} {
			if _, err := b.read(t.Context(), listenertest.From(read, dataset.Column{Kind: kind}, func(yield func([]byte, error) bool) {
				yield([]byte(value), nil)
			})); !errors.Is(err, listeners.ErrPermanent) {
				t.Errorf("%s %q: %v", kind, value, err)
			}
		}
	}
}

// TestAStatementThatIsTooLong: the server would close the connection, which looks like
// an outage.
func TestAStatementThatIsTooLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	value, err := json.Marshal(strings.Repeat("x", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	var packet int
	if err := b.admin.QueryRow("SELECT @@max_allowed_packet").Scan(&packet); err != nil {
		t.Fatal(err)
	}
	given := 0
	_, err = b.read(t.Context(), listenertest.From(task(t, "SELECT 1 AS v FROM DUAL WHERE 'a' IN (:s.v)", "v"), dataset.Column{Kind: report.KindText}, func(yield func([]byte, error) bool) {
		for given = range 2 * packet >> 20 {
			value[1], value[2] = byte('A'+given%26), byte('A'+given/26)
			if !yield(value, nil) {
				return
			}
		}
	}))
	want := "raise max_allowed_packet of database d"
	if packet >= maxStatement { // as MySQL has it unless set
		want = "more than the maximum of 64 MiB of a statement: reduce the result of s"
	}
	if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if most := packet >> 20; given > most {
		t.Errorf("%d MiB were read before it was known that %d are too many", given, most)
	}
	b.mustRead(t, task(t, "SELECT 1 AS v", "v")) // the connection is not lost
}

// TestLiterals: the server reads each value as the column had it, whatever the
// session's sql_mode.
func TestLiterals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, mode := range []string{"", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"} {
		if _, err := b.db.Exec("SET SESSION sql_mode = ?", mode); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(r *rapid.T) {
			text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune(`'"\?%_:-/*`+"\x00\n\r\x1a`")))).Draw(r, "text")
			raw, err := json.Marshal(text)
			if err != nil {
				r.Fatal(err)
			}
			for kind, want := range map[report.Kind]any{report.KindText: text, report.KindJSON: text, report.KindDecimal: text} {
				var out strings.Builder
				if err := writeLiteral(&out, dataset.Column{Kind: kind}, raw); err != nil {
					r.Fatal(err)
				}
				var got string
				if err := b.db.QueryRowContext(t.Context(), "SELECT "+out.String()).Scan(&got); err != nil || got != want {
					r.Fatalf("%q: %s is read as %q, %v", text, out.String(), got, err)
				}
			}
		})
	}
	for _, c := range []struct {
		column    dataset.Column
		raw, want string
	}{
		{dataset.Column{Kind: report.KindInteger}, "18446744073709551615", "18446744073709551615"},
		{dataset.Column{Kind: report.KindDecimal}, `"-000123.4500"`, "-000123.4500"},
		{dataset.Column{Kind: report.KindDecimal}, `"1e3"`, "'1e3'"},
		{dataset.Column{Kind: report.KindDecimal}, `"1; DROP"`, "'1; DROP'"},
		{dataset.Column{Kind: report.KindFloat}, "0.1", "1e-01"},
		{dataset.Column{Kind: report.KindFloat, Bits: 32}, "0.1", "1.0000000149011612e-01"},
		{dataset.Column{Kind: report.KindBinary}, `"AP8n"`, "x'00ff27'"},
		{dataset.Column{Kind: report.KindDate}, `"2024-02-29"`, "'2024-02-29'"},
		{dataset.Column{}, "true", "TRUE"},
		{dataset.Column{}, "false", "FALSE"},
		{dataset.Column{}, "1.50", "1.50"},
	} {
		var out strings.Builder
		if err := writeLiteral(&out, c.column, []byte(c.raw)); err != nil || out.String() != c.want {
			t.Errorf("%v %s: %s, %v, want %s", c.column, c.raw, out.String(), err, c.want)
		}
	}
}

// TestDistinctIsExact: what is fresh is what no value before was.
func TestTooManyParameters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	read := task(t, "SELECT 1 AS v FROM DUAL WHERE 1 IN (:list)", "v")
	var list []any
	for i := range maxPlaceholders + 1 {
		list = append(list, int64(i))
	}
	read.Parameters = map[string]any{"list": list}
	if _, err := b.read(t.Context(), read); !errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("%v", err)
	}
	read.Parameters["list"] = list[1:]
	if got := b.mustRead(t, read).JSON("v"); got != "[1]" {
		t.Errorf("%s", got)
	}
}

// TestATextThatTheColumnCannotHave fails for good and says what helps: no try will ever
// be without it.
func TestATextThatTheColumnCannotHave(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (v VARCHAR(20) CHARACTER SET latin1)", "INSERT INTO t VALUES ('a'), ('b')")
	for _, values := range [][]string{{`"a"`, `"😀"`}, {`"a"`, `"b"`, `"😀"`, `"c"`}} {
		_, err := b.read(t.Context(), from(task(t, "SELECT v FROM t WHERE v IN (:s.v)", "v"), values...))
		if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "character set") {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// TestALongStatementHasABound of its own, since the process makes it in memory.
func TestALongStatementHasABound(t *testing.T) {
	t.Parallel()
	value := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	given := 0
	read := listenertest.From(task(t, "SELECT 1 AS v FROM DUAL WHERE 'a' IN (:s.v)", "v"), dataset.Column{Kind: report.KindText}, func(yield func([]byte, error) bool) {
		for given = range 200 {
			value[1] = byte('A' + given%26)
			value[2] = byte('A' + given/26)
			if !yield(value, nil) {
				return
			}
		}
	})
	_, err := (&reader{task: read}).literals(t.Context(), 1<<30)
	if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "64 MiB") || strings.Contains(err.Error(), "raise") || given > 64 {
		t.Errorf("after %d MiB: %v", given, err)
	}
}
