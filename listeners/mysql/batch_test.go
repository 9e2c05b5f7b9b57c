package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

func TestManyValuesOfAnEarlierStage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY)", "INSERT INTO t SELECT seq * 2 FROM seq_1_to_60000")
	var values []string
	for i := 1; i <= 60000; i++ {
		values = append(values, strconv.Itoa(i))
		if i%3 == 0 {
			values = append(values, "null", strconv.Itoa(i/2+1))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	for _, batch := range []int{0, 997, 100000} { // the last does not fit into a statement
		read := task(t, "SELECT id FROM t WHERE id IN (:s.v) AND (id > 0 OR id IN (:s.v)) AND :p = 1", "id")
		read.Listener.Batch = batch
		read.Parameters = map[string]any{"p": int64(1)}
		found := map[any]int{}
		all := b.mustRead(t, from(read, values...)).values(t, "id")
		for _, id := range all {
			found[id]++
		}
		if len(all) != 30000 || len(found) != 30000 {
			t.Errorf("batches of %d: %d rows, %d of them distinct", batch, len(all), len(found))
		}
	}
}

func TestBatchesKeepTheOrderOfTheValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t SELECT seq FROM seq_1_to_9")
	read := task(t, "SELECT id FROM t WHERE id IN (:s.v) ORDER BY id", "id")
	read.Listener.Batch = 2
	got := b.mustRead(t, from(read, "9", "null", "9", "3", "9", "5", "1", "3", "2")).fields["id"]
	if diff := cmp.Diff([]string{"[3,9,1,5,2]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (id INT, at DATETIME(6), v BLOB)", "INSERT INTO t SELECT seq, NOW(6), 'x' FROM seq_1_to_5000")
	for _, where := range []string{"id IN (:s.v)", "id IN (:s.v) OR TRUE"} {
		d := b.mustRead(t, from(task(t, "SELECT id, at, v FROM t WHERE "+where, "id at v"), "null", "null"))
		want := []report.Column{{Name: "id", Kind: report.KindInteger}, {Name: "at", Kind: report.KindDatetime}, {Name: "v", Kind: report.KindBinary}}
		if diff := cmp.Diff(want, d.columns); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
		}
		if d.fields["id"][0] != "[]" {
			t.Errorf("%s: rows without values", where)
		}
	}
	b.mustRead(t, task(t, "SELECT id, at, v FROM t", "id at v")) // the connection can be used again
}

func TestValuesThatFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	broken := errors.New("broken")
	read := from(task(t, "SELECT 1 AS v FROM DUAL WHERE 1 IN (:s.v)", "v"))
	read.Values = func(context.Context, string, string) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) { _ = yield([]byte("1"), nil) && yield(nil, broken) }
	}
	if _, err := b.read(t.Context(), read); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	for _, value := range []string{"{}", "[1]", "", `"\x"`} {
		if _, err := b.read(t.Context(), from(read, value)); !errors.Is(err, listeners.ErrPermanent) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestDistinct(t *testing.T) {
	t.Parallel()
	d := distinct{}
	for _, test := range []struct {
		raw   string
		value any
		fresh bool
	}{
		{`1`, int64(1), true}, {`"1"`, "1", true}, {`1`, int64(1), false}, {`1.0`, "1.0", true}, {`1.0`, "1.0", false},
		{`-1`, int64(-1), true}, {`18446744073709551615`, uint64(1<<64 - 1), true}, {`18446744073709551615`, uint64(1<<64 - 1), false},
		{`18446744073709551616`, "18446744073709551616", true}, {`9007199254740993`, int64(9007199254740993), true}, {`9007199254740992`, int64(9007199254740992), true},
		{`"1.0"`, "1.0", true}, {`""`, "", true}, {`"\u00e9"`, "é", true}, {`"é"`, "é", false}, {`true`, true, true}, {`true`, true, false}, {`false`, false, true},
		{`"t"`, "t", true}, {`null`, nil, false}, {`"null"`, "null", true}, {`1e3`, "1e3", true},
	} {
		value, fresh, err := d.add([]byte(test.raw))
		if err != nil || value != test.value || fresh != test.fresh {
			t.Errorf("%s: %#v, %v, %v", test.raw, value, fresh, err)
		}
	}
}

// TestDistinctIsExact: what is fresh is what no value before was.
func TestDistinctIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, model := distinct{}, map[string]bool{}
		for _, v := range rapid.SliceOf(rapid.OneOf(rapid.Int64Range(-3, 3).AsAny(), rapid.StringN(0, 2, 4).AsAny(), rapid.Uint64().AsAny(), rapid.Bool().AsAny())).Draw(t, "values") {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			_, fresh, err := d.add(raw)
			if err != nil || fresh == model[string(raw)] {
				t.Fatalf("%s: fresh %v, %v", raw, fresh, err)
			}
			model[string(raw)] = true
		}
	})
}

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
	if got := fmt.Sprint(b.mustRead(t, read).fields["v"]); got != "[[1]]" {
		t.Errorf("%s", got)
	}
}
