package report

import (
	"strings"
	"testing"
)

func TestSaveAs(t *testing.T) {
	t.Parallel()
	r := &Report{Name: "orders", Parameters: []Parameter{
		{Name: "from", Type: ParamDate}, {Name: "at", Type: ParamDatetime}, {Name: "n", Type: ParamInteger},
		{Name: "big", Type: ParamInteger}, {Name: "rate", Type: ParamDecimal}, {Name: "new", Type: ParamBoolean},
		{Name: "text", Type: ParamString}, {Name: "none", Type: ParamString, Default: new("null")},
		{Name: "list", Type: ParamInteger, List: true},
	}}
	const values = `{"from": "2024-03-01", "at": "2024-03-01T10:00:00Z", "n": -7, "big": 18446744073709551615,
		"rate": "1.50", "new": true, "text": "` + `a/b\\c:\"d\"\n*é` + `", "none": null, "list": [1, 2]}`
	bound, err := r.Decode([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	for template, want := range map[string]string{
		"":                                  "orders-1111",
		"orders {from}, {id}":               "orders 2024-03-01, 1111",
		"{n} {big} {rate} {new}":            "-7 18446744073709551615 1.50 true",
		"{text}":                            "a-b-c--d---é",
		"{at}":                              "2024-03-01 10-00-00Z",
		"a{none}b {from-to} { from }":       "ab {from-to} { from }",
		"../..{none}":                       "-..",
		"a\u202eb\u2028c\u200bd\U0001f600":  "a-b-c-d\U0001f600",
		".{none}":                           "orders-1111",
		strings.Repeat("é", 150):            strings.Repeat("é", 100),
		"x" + strings.Repeat("é", 99) + "é": "x" + strings.Repeat("é", 99),
	} {
		r.File.Name = template
		if got := r.File.SaveAs("orders", "1111", bound); got != want {
			t.Errorf("%q: %q; want %q", template, got, want)
		}
	}
	bound[NameID] = "mine"
	r.File.Name = "{id}"
	if got := r.File.SaveAs("orders", "1111", bound); got != "mine" {
		t.Errorf("a parameter with the name id: %q", got)
	}
}
