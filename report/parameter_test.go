package report

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// everyType has a parameter of each type, in both forms where they differ.
func everyType() *Report {
	return &Report{Parameters: []Parameter{
		{Name: "s", Type: ParamString, Default: new(`"d"`)},
		{Name: "i", Type: ParamInteger, Default: new(`5`)},
		{Name: "f", Type: ParamDecimal, Default: new(`"1.5"`)},
		{Name: "b", Type: ParamBoolean, Default: new(`false`)},
		{Name: "d", Type: ParamDate, Default: new(`"2024-02-29"`)},
		{Name: "t", Type: ParamDatetime, Default: new(`null`)},
		{Name: "l", Type: ParamInteger, List: true, Default: new(`[]`)},
		{Name: "n", Type: ParamString, List: true, Default: new(`null`)},
	}}
}

func TestBind(t *testing.T) {
	t.Parallel()
	defaults := map[string]any{"s": "d", "i": int64(5), "f": "1.5", "b": false, "d": "2024-02-29", "t": nil, "l": []any{}, "n": nil}
	for raw, changes := range map[string]map[string]any{
		"":                                   nil,
		" {} ":                               nil,
		`{"s": "", "b": true}`:               {"s": "", "b": true},
		`{"s": "<é\u0000>"}`:                 {"s": "<é\x00>"},
		`{"i": "-7"}`:                        {"i": int64(-7)},
		`{"i": 9007199254740993}`:            {"i": int64(9007199254740993)},
		`{"i": 9223372036854775807}`:         {"i": int64(math.MaxInt64)},
		`{"i": 9223372036854775808}`:         {"i": uint64(9223372036854775808)},
		`{"i": "18446744073709551615"}`:      {"i": uint64(math.MaxUint64)},
		`{"f": 1.50}`:                        {"f": "1.50"},
		`{"f": "-0.1"}`:                      {"f": "-0.1"},
		`{"f": 12345678901234567890.123}`:    {"f": "12345678901234567890.123"},
		`{"t": "2024-01-02T03:04:05.5"}`:     {"t": "2024-01-02 03:04:05.5"},
		`{"t": "2024-01-02 03:04:05"}`:       {"t": "2024-01-02 03:04:05"},
		`{"t": "2024-03-31T00:30:00+02:00"}`: {"t": time.Date(2024, 3, 30, 22, 30, 0, 0, time.UTC)},
		`{"t": "2024-03-30 22:30:00.25Z"}`:   {"t": time.Date(2024, 3, 30, 22, 30, 0, 250_000_000, time.UTC)},
		`{"t": null}`:                        nil,
		`{"l": [1, "2"], "n": ["a"]}`:        {"l": []any{int64(1), int64(2)}, "n": []any{"a"}},
	} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			want := maps.Clone(defaults)
			maps.Copy(want, changes)
			got, err := everyType().Bind([]byte(raw), friday)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBindRefuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"s": 1}`:                                `s is not a string (value 1): give a string`,
		`{"s": null}`:                             `s is null (value null): give a string`,
		`{"i": 1.0}`:                              `i is not an integer (value 1.0): give a whole number, or a string of its digits`,
		`{"i": 18446744073709551616}`:             `i is an integer of more than 64 bits (value 18446744073709551616): give one from -9223372036854775808 to 18446744073709551615`,
		`{"i": "1 OR 1=1"}`:                       `i is not an integer (value "1 OR 1=1"): give a whole number, or a string of its digits`,
		`{"f": "1,5"}`:                            `f is not a decimal (value "1,5"): give a number, or a string of it such as "12.50"`,
		`{"b": "true"}`:                           `b is not a boolean (value "true"): give true or false`,
		`{"d": "now-6h"}`:                         `d is not a date, because now is a time, for a parameter of type datetime (value "now-6h"): give a string such as "2006-01-02" or "today-30d"`,
		`{"d": "today-7"}`:                        `d is not a date, because the number has no unit: d for days or w for weeks (value "today-7"): give a string such as "2006-01-02" or "today-30d"`,
		`{"d": "month-1w"}`:                       `d is not a date, because month does not take that number or unit (value "month-1w"): give a string such as "2006-01-02" or "today-30d"`,
		`{"d": "2023-02-29"}`:                     `d is not a date, because there is no such day (value "2023-02-29"): give a string such as "2006-01-02" or "today-30d"`,
		`{"d": 20240101}`:                         `d is not a date (value 20240101): give a string such as "2006-01-02" or "today-30d"`,
		`{"t": "2024-01-02T25:04:05Z"}`:           `t is not a datetime (value "2024-01-02T25:04:05Z"): give a string such as "2006-01-02 15:04:05", with an offset "2006-01-02T15:04:05+02:00", or "now-6h"`,
		`{"t": "2024-01-02T03:04:05+0200"}`:       `t is not a datetime (value "2024-01-02T03:04:05+0200"): give a string such as "2006-01-02 15:04:05", with an offset "2006-01-02T15:04:05+02:00", or "now-6h"`,
		`{"t": "2024-01-02T03:04:05+25:00"}`:      `t is not a datetime (value "2024-01-02T03:04:05+25:00"): give a string such as "2006-01-02 15:04:05", with an offset "2006-01-02T15:04:05+02:00", or "now-6h"`,
		`{"t": "9999-01-02T03:04:05Z"}`:           `t is a datetime with an offset in the year 9999 (value "9999-01-02T03:04:05Z"): give one in the years 1000 to 9998`,
		`{"t": "2024-01-02 25:04:05"}`:            `t is not a datetime (value "2024-01-02 25:04:05"): give a string such as "2006-01-02 15:04:05", with an offset "2006-01-02T15:04:05+02:00", or "now-6h"`,
		`{"l": 1}`:                                `l is not a list (value 1): give a list, each element a whole number, or a string of its digits`,
		`{"l": [1, null]}`:                        `l is a list whose element 2 is not an integer (value [1, null]): give a whole number, or a string of its digits`,
		`{"l": null}`:                             `l is null (value null): give a list, each element a whole number, or a string of its digits`,
		`{"S": "x", "b": 0}`:                      `b is not a boolean (value 0): give true or false; S is not known: the report has s, i, f, b, d, t, l, n`,
		`{"s": "a", "s": "b"}`:                    `s is given twice: remove one of them`,
		`{"s": "a"} {}`:                           `unexpected text after the JSON object: remove it`,
		`[]`:                                      `not a JSON object (value []): write {"name": value}`,
		`null`:                                    `not a JSON object (value null): write {"name": value}`,
		`{"s": "a"`:                               `not a JSON object: EOF`,
		`{"s": ` + strings.Repeat("9", 100) + `}`: `s is not a string (value ` + strings.Repeat("9", 79) + `…): give a string`,
	} {
		t.Run(Shorten(raw), func(t *testing.T) {
			t.Parallel()
			_, err := everyType().Bind([]byte(raw), friday)
			if !errors.Is(err, ErrParameters) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff("parameters: "+want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBindNeedsWhatHasNoDefault(t *testing.T) {
	t.Parallel()
	r := &Report{Parameters: []Parameter{{Name: "a", Type: ParamDate}, {Name: "b", Type: ParamString, List: true}}}
	_, err := r.Bind(nil, friday)
	want := `parameters: a is missing: give a string such as "2006-01-02" or "today-30d"; b is missing: give a list, each element a string`
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	if _, err := (&Report{}).Bind([]byte(`{"x": 1}`), friday); err == nil || !strings.Contains(err.Error(), "the report has no parameters") {
		t.Errorf("error %v", err)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	got, err := everyType().Canonical([]byte(`{"t": "2024-01-02T03:04:05", "i": "007", "s": "<&>", "l": ["1", 18446744073709551615]}`), friday)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"b":false,"d":"2024-02-29","f":"1.5","i":7,"l":[1,18446744073709551615],"n":null,"s":"<&>","t":"2024-01-02 03:04:05"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// A job keeps its parameters in their canonical form: reading them again gives
// the same values, and the form itself.
func TestCanonicalBindsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		record := map[string]any{}
		put := func(name string, value *rapid.Generator[any]) {
			if rapid.Bool().Draw(t, "give "+name) {
				record[name] = value.Draw(t, name)
			}
		}
		integer := rapid.OneOf(rapid.Int64().AsAny(), rapid.Uint64().AsAny(), rapid.StringMatching(`-?[0-9]{1,18}`).AsAny())
		put("s", rapid.String().AsAny())
		put("i", integer)
		put("f", rapid.OneOf(rapid.Float64().AsAny(), rapid.StringMatching(`-?[0-9]{1,30}(\.[0-9]{1,30})?`).AsAny()))
		put("b", rapid.Bool().AsAny())
		put("d", rapid.StringMatching(`20[0-9][0-9]-0[1-9]-[0-2][1-8]`).AsAny())
		put("t", rapid.StringMatching(`20[0-9][0-9]-0[1-9]-[0-2][1-8][ T][01][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])?`).AsAny())
		put("l", rapid.Map(rapid.SliceOf(integer), func(l []any) any { return append([]any{}, l...) }))
		put("n", rapid.SliceOfN(rapid.String(), 1, 5).AsAny())
		raw, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		r := everyType()
		values, err := r.Bind(raw, friday)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := r.Canonical(raw, friday)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.Bind(canonical, friday)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(values, again); diff != "" {
			t.Errorf("Bind of %s: %s", canonical, diff)
		}
		decoded, err := r.Decode(canonical)
		if diff := cmp.Diff(values, decoded); diff != "" || err != nil {
			t.Errorf("Decode of %s: %s (%v)", canonical, diff, err)
		}
		twice, err := r.Canonical(canonical, friday)
		if err != nil || string(twice) != string(canonical) {
			t.Errorf("%s became %s (%v)", canonical, twice, err)
		}
	})
}

// A state that another program has changed fails its task.
func TestDecodeOfChangedParameters(t *testing.T) {
	t.Parallel()
	canonical, err := everyType().Canonical([]byte(`{"t": "2024-01-02T03:04:05Z"}`), friday)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`{`, `no JSON {`}, {`"i":`, `"j":`}, {`"i":5`, `"i":1.5`}, {`"i":5`, `"i":[5]`}, {`"b":false`, `"b":null`}, {`05Z`, `99Z`}, {`"d":"2024-02-29"`, `"d":{}`},
		{`"i":5`, `"i":"5"`}, {`"b":false`, `"b":"false"`}, {`"d":"2024-02-29"`, `"d":7`}, {`"l":`, `"l":5,"m":`}, {`}`, `} x`},
	} {
		changed := strings.Replace(string(canonical), change[0], change[1], 1)
		if values, err := everyType().Decode([]byte(changed)); !errors.Is(err, ErrParameters) || changed == string(canonical) {
			t.Errorf("%s: %v %v", changed, values, err)
		}
	}
}

func FuzzBind(f *testing.F) {
	f.Add([]byte(`{"i": 1, "l": ["2"], "t": "2024-01-02T03:04:05"}`))
	f.Add([]byte(`{"s": "\ud800", "f": 1e400}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := everyType()
		values, err := r.Bind(raw, friday)
		if err != nil {
			return
		}
		canonical, _ := r.Canonical(raw, friday)
		again, err := r.Bind(canonical, friday)
		if err != nil || !cmp.Equal(values, again) {
			t.Fatalf("%q became %q (%v)", raw, canonical, err)
		}
		if decoded, err := r.Decode(canonical); err != nil || !cmp.Equal(values, decoded) {
			t.Fatalf("%q was decoded as %v (%v)", canonical, decoded, err)
		}
	})
}
