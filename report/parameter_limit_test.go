package report

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func expression(t *testing.T, text string) Expression {
	t.Helper()
	e, wrong := ParseExpression(text)
	if wrong != nil {
		t.Fatal(wrong)
	}
	return e
}

// limited has parameters that do not take every value of their types.
func limited(t *testing.T) *Report {
	t.Helper()
	r := &Report{TimeZone: "Europe/Berlin", Parameters: []Parameter{
		{Name: "tag", Type: ParamString, Options: []string{"vip", "new", ""}},
		{Name: "level", Type: ParamInteger, Options: []string{"1", "007"}},
		{Name: "rate", Type: ParamDecimal, Options: []string{"0.50", "1e2"}},
		{Name: "day", Type: ParamDate, Options: []string{"2024-02-01", "2024-03-01"}},
		{Name: "n", Type: ParamInteger, Minimum: "-5", Maximum: "18446744073709551615", List: true},
		{Name: "price", Type: ParamDecimal, Minimum: "0.01"},
		{Name: "to", Type: ParamDate, Minimum: "2024-02-01", Maximum: "2024-12-31"},
		{Name: "at", Type: ParamDatetime, Maximum: "2024-07-01 00:00:00"},
		{Name: "until", Type: ParamDatetime, Minimum: "2024-07-01T00:00:00+02:00"},
		{Name: "code", Type: ParamString, Pattern: expression(t, "[A-Z]{2}|[A-Z]{2}-[0-9]+")},
	}}
	for i := range r.Parameters {
		r.Parameters[i].Default = new("null")
	}
	return r
}

func TestLimits(t *testing.T) {
	t.Parallel()
	const (
		days    = `a string such as "2006-01-02" or "today-30d"`
		times   = `a string such as "2006-01-02 15:04:05", with an offset "2006-01-02T15:04:05+02:00", or "now-6h"`
		tags    = ` is not one of the options (value "VIP"): give one of vip, new, `
		berlin  = `until is below the minimum (value "2024-06-30 23:59:59"): give ` + times + `, at least 2024-07-01T00:00:00+02:00`
		matches = `: give a string that matches [A-Z]{2}|[A-Z]{2}-[0-9]+`
	)
	for raw, want := range map[string]string{
		`{"tag": "vip"}`:                    "",
		`{"tag": ""}`:                       "",
		`{"tag": "VIP"}`:                    "tag" + tags,
		`{"level": 7}`:                      "",
		`{"level": "01"}`:                   "",
		`{"level": 70}`:                     `level is not one of the options (value 70): give one of 1, 007`,
		`{"level": "x"}`:                    `level is not an integer (value "x"): give one of 1, 007`,
		`{"rate": 0.5}`:                     "",
		`{"rate": "100.00"}`:                "",
		`{"rate": 0.51}`:                    `rate is not one of the options (value 0.51): give one of 0.50, 1e2`,
		`{"day": "2024-02-01"}`:             "",
		`{"day": "month"}`:                  "",
		`{"day": "today-1d"}`:               `day is "2024-02-29", which is not one of the options (value "today-1d"): give one of 2024-02-01, 2024-03-01`,
		`{"n": [-5, 18446744073709551615]}`: "",
		`{"n": [0, -6]}`: `n is a list whose element 2 is below the minimum (value [0, -6]): give a whole number, ` +
			`or a string of its digits, from -5 to 18446744073709551615`,
		`{"price": 0.01}`:         "",
		`{"price": "1e99999999"}`: "",
		`{"price": 0.009}`:        `price is below the minimum (value 0.009): give a number, or a string of it such as "12.50", at least 0.01`,
		`{"to": "2024-02-01"}`:    "",
		`{"to": "2024-12-31"}`:    "",
		`{"to": "month-1"}`:       "",
		`{"to": "2025-01-01"}`:    `to is above the maximum (value "2025-01-01"): give ` + days + `, from 2024-02-01 to 2024-12-31`,
		`{"to": "month-2"}`: `to is "2024-01-01", which is below the minimum (value "month-2"): give ` + days +
			`, from 2024-02-01 to 2024-12-31`,
		`{"at": "now"}`:                          "",
		`{"at": "2024-07-01T00:00:00"}`:          "",
		`{"at": "2024-06-30T22:00:00Z"}`:         "",
		`{"at": "2024-06-30T22:00:00.5Z"}`:       `at is above the maximum (value "2024-06-30T22:00:00.5Z"): give ` + times + `, at most 2024-07-01 00:00:00`,
		`{"at": "2024-07-01 00:00:00.1"}`:        `at is above the maximum (value "2024-07-01 00:00:00.1"): give ` + times + `, at most 2024-07-01 00:00:00`,
		`{"until": "2024-07-01 00:00:00"}`:       "",
		`{"until": "2024-06-30 23:59:59"}`:       berlin,
		`{"until": "2024-06-30T22:00:00Z"}`:      "",
		`{"until": "2024-07-01T00:00:00+03:00"}`: strings.ReplaceAll(berlin, "2024-06-30 23:59:59", "2024-07-01T00:00:00+03:00"),
		`{"code": "AB"}`:                         "",
		`{"code": "AB-12"}`:                      "",
		`{"code": "ABC"}`:                        `code is a string that does not match the pattern (value "ABC")` + matches,
		`{"code": "xAB"}`:                        `code is a string that does not match the pattern (value "xAB")` + matches,
		`{"code": "AB-1\n"}`:                     `code is a string that does not match the pattern (value "AB-1\n")` + matches,
	} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			got := ""
			if _, err := limited(t).Bind([]byte(raw), friday); err != nil {
				got = strings.TrimPrefix(err.Error(), "parameters: ")
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	missing := Parameter{Name: "tag", Type: ParamString, Options: []string{"a", "b"}, List: true}
	_, err := (&Report{Parameters: []Parameter{missing}}).Bind(nil, friday)
	if err == nil || !strings.HasSuffix(err.Error(), "tag is missing: give a list, each element one of a, b") {
		t.Error(err)
	}
}

func TestExpression(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form, text string
		matches    bool
	}{
		{"a|ab", "ab", true},
		{"a*?", "aaa", true},
		{"^ab$", "ab", true},
		{"(?i)ab", "AB", true},
		{`\Qa.b`, "a.b", true},
		{"(?m)^a$", "a\nb", false},
		{"b", "ab", false},
		{"a", "ab", false},
		{".", "\n", false},
	} {
		if expression(t, c.form).Matches(c.text) != c.matches {
			t.Errorf("%q matches %q: %t", c.form, c.text, !c.matches)
		}
	}
	for text, want := range map[string]string{
		"":    "not a regular expression",
		"(a":  "not a regular expression: missing closing )",
		"a)b": "not a regular expression: unexpected )",
	} {
		if _, wrong := ParseExpression(text); wrong == nil || wrong.Message != want {
			t.Errorf("%q: %v", text, wrong)
		}
	}
}

// TestCompareNumbers compares with exact fractions.
func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1e9223372036854775808", "1e9223372036854775807", 0}, // both beyond what is told apart
		{"1e99999999999", "2", 1},
		{"-1e99999999999", "2", -1},
		{"1e-99999999999", "0", 1},
		{"0e5", "-0.0", 0},
	} {
		if got := compareNumbers(c.a, c.b); got != c.want {
			t.Errorf("%s to %s: %d", c.a, c.b, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.StringMatching(`-?[0-2]{1,4}(\.[0-2]{1,4})?([eE][+-]?[0-3])?`)
		a, b := form.Draw(t, "a"), form.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := compareNumbers(a, b), x.Cmp(y); got != want {
			t.Errorf("%s to %s: %d, want %d", a, b, got, want)
		}
	})
}
