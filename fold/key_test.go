package fold

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/report"
)

// keyOf returns the key of one row with these cells.
func keyOf(t testing.TB, k *keyer, cells ...string) (string, bool) {
	t.Helper()
	var columns []dataset.Column
	var fields [][]byte
	var numbers []keyColumn
	for i, cell := range cells {
		columns = append(columns, dataset.Column{Name: fmt.Sprint(i), Kind: report.KindText})
		fields = append(fields, []byte("["+cell+"]"))
		numbers = append(numbers, keyColumn{number: i})
	}
	c, row := datasettest.Decode(t, columns, fields), op.Row{}
	for i := range columns {
		row = append(row, c.Cell(i, 0))
	}
	key, ok := k.append(nil, row, numbers)
	return string(key), ok
}

func TestKeysOfOneColumn(t *testing.T) {
	t.Parallel()
	numbers := []report.Kind{report.KindInteger, report.KindDecimal}
	mixed := []report.Kind{report.KindInteger, report.KindText}
	clocks := []report.Kind{report.KindTime, report.KindText}
	times := []report.Kind{report.KindDate, report.KindDatetime}
	for _, test := range []struct {
		kinds   []report.Kind
		folding report.CaseFolding
		a, b    string
		equal   bool
	}{
		{numbers, report.FoldNone, `1`, `"1"`, true},
		{numbers, report.FoldNone, `1`, `"1.00"`, true},
		{numbers, report.FoldNone, `1`, `"01"`, true},
		{numbers, report.FoldNone, `1`, `1e0`, true},
		{numbers, report.FoldNone, `1`, `10e-1`, true},
		{numbers, report.FoldNone, `1`, `"+1"`, true},
		{numbers, report.FoldNone, `100`, `1e2`, true},
		{numbers, report.FoldNone, `100`, `1E+02`, true},
		{numbers, report.FoldNone, `0.5`, `".5"`, true},
		{numbers, report.FoldNone, `5`, `"5."`, true},
		{numbers, report.FoldNone, `0.05`, `0.005`, false},
		{numbers, report.FoldNone, `0.05`, `5e-2`, true},
		{numbers, report.FoldNone, `0`, `-0`, true},
		{numbers, report.FoldNone, `0`, `"0.000"`, true},
		{numbers, report.FoldNone, `0`, `0e99999999999999999999`, true},
		{numbers, report.FoldNone, `1`, `-1`, false},
		{numbers, report.FoldNone, `1`, `10`, false},
		{numbers, report.FoldNone, `1`, `11`, false},
		{numbers, report.FoldNone, `101`, `11`, false},
		{numbers, report.FoldNone, `9007199254740992`, `9007199254740993`, false},
		{numbers, report.FoldNone, `18446744073709551615`, `"18446744073709551615.0"`, true},
		{numbers, report.FoldNone, `1e1000000000`, `10e999999999`, true},
		{numbers, report.FoldNone, `1e1000000000`, `1e1000000001`, false},
		{numbers, report.FoldNone, `1e99999999999999999999`, `10e99999999999999999998`, true},
		{numbers, report.FoldNone, `1e99999999999999999999`, `1e99999999999999999998`, false},
		{numbers, report.FoldNone, `1e00000000000000000000000001`, `10`, true},
		{numbers, report.FoldNone, `1e-99999999999999999999`, `0.1e-99999999999999999998`, true},

		{mixed, report.FoldNone, `1`, `"1.0"`, true},
		{mixed, report.FoldNone, `"1"`, `"1.0"`, true},
		{mixed, report.FoldNone, `1`, `"1x"`, false},
		{mixed, report.FoldNone, `1`, `" 1"`, false},
		{mixed, report.FoldNone, `1`, `"one"`, false},
		{mixed, report.FoldNone, `0`, `""`, false},
		{mixed, report.FoldNone, `0`, `"."`, false},
		{mixed, report.FoldNone, `0`, `"-"`, false},
		{mixed, report.FoldNone, `1`, `"1e"`, false},
		{mixed, report.FoldNone, `1`, `"1e+"`, false},
		{mixed, report.FoldNone, `1`, `"+1e0"`, true},
		{mixed, report.FoldNone, `1`, `"n+1e0"`, false},
		{mixed, report.FoldNone, `"a"`, `"A"`, false},
		{mixed, report.FoldSimple, `"a"`, `"A"`, true},

		{[]report.Kind{report.KindText}, report.FoldNone, `"1"`, `"1.0"`, false},
		{[]report.Kind{report.KindText}, report.FoldNone, `"a"`, `"A"`, false},
		{[]report.Kind{report.KindText}, report.FoldNone, `"a"`, `"a "`, false},
		{[]report.Kind{report.KindText}, report.FoldNone, `"é\n"`, `"\u00e9\u000a"`, true},
		{[]report.Kind{report.KindText}, report.FoldNone, `"2024-01-01"`, `"2024-01-01 00:00:00"`, false},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"Ab1é"`, `"aB1É"`, true},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"straße"`, `"STRASSE"`, false},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"straße"`, `"STRAẞE"`, true},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"İ"`, `"i"`, false},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"ı"`, `"I"`, false},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"ſς"`, `"SΣ"`, true},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"ﬁ"`, `"fi"`, false},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"Ǆ"`, `"ǆ"`, true},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"ǅ"`, `"ǆ"`, true},
		{[]report.Kind{report.KindText}, report.FoldFull, `"straße"`, `"STRASSE"`, true},
		{[]report.Kind{report.KindText}, report.FoldFull, `"İ"`, `"i"`, false},
		{[]report.Kind{report.KindText}, report.FoldFull, `"ﬁ"`, `"FI"`, true},
		{[]report.Kind{report.KindText}, report.FoldFull, `"a"`, `"b"`, false},
		{[]report.Kind{report.KindBinary}, report.FoldFull, `"QQ=="`, `"qq=="`, false},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"k"`, `"\u212a"`, true}, // the Kelvin sign
		{[]report.Kind{report.KindText}, report.FoldSimple, `"a"`, `"b"`, false},
		{[]report.Kind{report.KindText}, report.FoldSimple, `"@"`, "\"`\"", false},
		{[]report.Kind{report.KindText, report.KindJSON}, report.FoldSimple, `"A"`, `"a"`, true},
		{[]report.Kind{report.KindBinary}, report.FoldSimple, `"QQ=="`, `"qq=="`, false},
		{clocks, report.FoldNone, `"10:00:00"`, `"10:00:00"`, true},
		{clocks, report.FoldNone, `"10:00:00"`, `"10:00:00.00"`, true},
		{clocks, report.FoldNone, `"10:00:00.5"`, `"10:00:00.500000"`, true},
		{clocks, report.FoldNone, `"-838:59:59"`, `"-838:59:59.0"`, true},
		{clocks, report.FoldNone, `"-00:00:00.5"`, `"-0:00:00.50"`, true},
		{clocks, report.FoldNone, `"-00:00:00"`, `"00:00:00.0"`, true},
		{clocks, report.FoldNone, `"01:00:00"`, `"1:00:00"`, true},
		{clocks, report.FoldNone, `"100:00:00"`, `"10:00:00"`, false},
		{clocks, report.FoldNone, `"10:00:00"`, `"-10:00:00"`, false},
		{clocks, report.FoldNone, `"10:00:00"`, `"10:00:00.01"`, false},
		{clocks, report.FoldNone, `"10:00:00"`, `"10:00:00."`, false},
		{clocks, report.FoldNone, `"10:00:00"`, `"10:00"`, false},
		{clocks, report.FoldNone, `"10:00:00"`, `":00:00"`, false},
		{[]report.Kind{report.KindTime, report.KindDate}, report.FoldNone, `"10:00:00"`, `"10:00:00.0"`, true},
		{[]report.Kind{report.KindText}, report.FoldNone, `"10:00:00"`, `"10:00:00.0"`, false},

		{times, report.FoldNone, `"2024-01-01"`, `"2024-01-01 00:00:00"`, true},
		{times, report.FoldNone, `"2024-01-01"`, `"2024-01-01 00:00:00.000000"`, true},
		{times, report.FoldNone, `"2024-01-01"`, `"2024-01-01T00:00:00"`, true},
		{times, report.FoldNone, `"2024-01-01"`, `"2024-01-01 00:00:01"`, false},
		{times, report.FoldNone, `"2024-01-01"`, `"2024-01-01 00:00:00.000001"`, false},
		{times, report.FoldNone, `"2024-01-01"`, `"2024-01-02"`, false},
		{times, report.FoldNone, `"2024-01-01 10:00:00.5"`, `"2024-01-01 10:00:00.500"`, true},
		{times, report.FoldNone, `"2024-01-01 10:00:00"`, `"2024-01-01 10:00:00.0"`, true},
		{times, report.FoldNone, `"2024-01-01 10:00:10"`, `"2024-01-01 10:00:1"`, false},
		{times, report.FoldNone, `"2024-01-01 10:00:00"`, `"2024-01-01 10:00:00."`, false},
		{times, report.FoldNone, `"2024-01-01"`, `"2024-01-01 "`, false},
		{[]report.Kind{report.KindDate, report.KindText}, report.FoldNone, `"2024-01-01"`, `"x"`, false},
	} {
		k := newKeyer([]comparison{compare(test.kinds, test.folding)})
		a, okA := keyOf(t, k, test.a)
		b, okB := keyOf(t, k, test.b)
		if !okA || !okB || (a == b) != test.equal {
			t.Errorf("%v, fold %v: %s is %q, %s is %q, want equal %v", test.kinds, test.folding, test.a, a, test.b, b, test.equal)
		}
		back, _ := keyOf(t, newKeyer([]comparison{compare([]report.Kind{test.kinds[len(test.kinds)-1], test.kinds[0]}, test.folding)}), test.a)
		if back != a {
			t.Errorf("%v: the order of the kinds matters for %s: %q and %q", test.kinds, test.a, a, back)
		}
	}
}

// TestSimpleFoldingIsEqualFold checks that two texts have the same key if strings.EqualFold holds.
func TestSimpleFoldingIsEqualFold(t *testing.T) {
	t.Parallel()
	letters := rapid.StringOfN(rapid.OneOf(rapid.RuneFrom([]rune("kKsSßẞſ\u212aåÅ\u212bςσΣiİıI@[`{µμΜ")), rapid.Rune()), 0, 3, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		if rapid.Bool().Draw(t, "other case") {
			b = strings.Map(unicode.SimpleFold, a)
		}
		if got := bytes.Equal(appendSimplyFolded(nil, []byte(a)), appendSimplyFolded(nil, []byte(b))); got != strings.EqualFold(a, b) {
			t.Fatalf("%q and %q: equal %v", a, b, got)
		}
	})
}

func TestKeysOfManyColumns(t *testing.T) {
	t.Parallel()
	k := newKeyer([]comparison{{}, {by: byNumber}})
	key := func(cells ...string) string {
		t.Helper()
		key, ok := keyOf(t, k, cells...)
		if !ok {
			t.Fatalf("no key for %s", cells)
		}
		return key
	}
	if key(`"a"`, `"bc"`) == key(`"ab"`, `"c"`) {
		t.Error("the parts run together")
	}
	const zeros = `\u0000\u0000\u0000\u0000`
	if key(`"a`+zeros+`b"`, `"c"`) == key(`"a"`, `"b`+zeros+`c"`) {
		t.Error("zeros in a part end it")
	}
	if key(`"1"`, `1.0`) != key(`"1"`, `"01"`) {
		t.Error("the second part does not compare as a number")
	}
	if key(`"1"`, `1`) == key(`"01"`, `1`) {
		t.Error("the first part does not compare as text")
	}
	for _, cells := range [][]string{{`null`, `1`}, {`"a"`, `null`}, {`null`, `null`}} {
		if _, ok := keyOf(t, k, cells...); ok {
			t.Errorf("a key for %s", cells)
		}
	}
}

func TestNumberKeysAreValues(t *testing.T) {
	t.Parallel()
	form := rapid.StringMatching(`[-+]?(0{0,2}[0-9]{1,3}(\.[0-9]{0,3})?|\.[0-9]{1,3})([eE][-+]?0?[0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := form.Draw(t, "a"), form.Draw(t, "b")
		keyA, okA := appendNumber(nil, []byte(a))
		keyB, okB := appendNumber(nil, []byte(b))
		if !okA || !okB {
			t.Fatalf("%q, %q: not taken for numbers", a, b)
		}
		if want := rational(t, a).Cmp(rational(t, b)) == 0; bytes.Equal(keyA, keyB) != want {
			t.Fatalf("%q is %q, %q is %q, want equal %v", a, keyA, b, keyB, want)
		}
		// The same value, written in another way.
		exponent, mantissa := "0", a
		if i := strings.IndexAny(a, "eE"); i >= 0 {
			mantissa, exponent = a[:i], a[i+1:]
		}
		n, _ := new(big.Int).SetString(exponent, 10)
		if !strings.Contains(mantissa, ".") {
			mantissa += "."
		}
		again := fmt.Sprintf("%s00e%v", mantissa, n)
		if key, ok := appendNumber(nil, []byte(again)); !ok || !bytes.Equal(key, keyA) {
			t.Fatalf("%q is %q, but %q is %q", a, keyA, again, key)
		}
	})
}

// TestNumbersAreFound checks that numbers with equal values have equal keys, whether they fit into
// a word or not.
func TestNumbersAreFound(t *testing.T) {
	t.Parallel()
	form := rapid.OneOf(
		rapid.SampledFrom([]string{"0", "-0", "1e64", "1e65", "1e18", "1e17", "-1e17", "100000000000000000", "1000000000000000000", "18446744073709551616", "-9223372036854775808", "9223372036854775808"}),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.0{1,3})?([eE][-+]?[0-9]{1,2})?`),
	)
	find := func(t *rapid.T, cell string) op.Key {
		c := datasettest.Decode(t, datasettest.Columns("k", "decimal"), [][]byte{[]byte("[" + cell + "]")})
		k, ok := newKeyer([]comparison{{by: byNumber}}).find(op.Row{c.Cell(0, 0)}, []keyColumn{{number: 0}})
		if !ok {
			t.Fatal("no key for", cell)
		}
		return k
	}
	for _, text := range []string{"", "e19", "-e19", "+e", "1e-1", "+1e-1", "+1e19", "+-1e1", "e"} {
		if n, ok := wholeNumber([]byte(text)); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := form.Draw(t, "a"), form.Draw(t, "b")
		keyA, keyB := find(t, a), find(t, b)
		if want := rational(t, a).Cmp(rational(t, b)) == 0; keyA.Equal(keyB) != want {
			t.Fatalf("%s is %v, %s is %v, want equal %v", a, keyA, b, keyB, want)
		}
	})
}

func rational(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number for math/big", text)
	}
	return r
}
