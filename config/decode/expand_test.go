package decode

import "testing"

func TestExpand(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"A": "one", "B_2": "two", "EMPTY": "", "NESTED": "${A}"}
	lookup := func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
	for _, c := range []struct{ text, want, fault string }{
		{"", "", ""},
		{"plain $A $$ {A}", "plain $A $$ {A}", ""},
		{"${A}${B_2}", "onetwo", ""},
		{"<${A}>", "<one>", ""},
		{"${EMPTY}", "", ""},
		{"${EMPTY:-x}${NO:-y}${A:-z}", "xyone", ""},
		{"${NO:-}", "", ""},
		{"${NO:-a:b-c $d\ne}", "a:b-c $d\ne", ""},
		{"$${A} $$${A}", "${A} $${A}", ""},
		{"${A}$${A}${A}", "one${A}one", ""},
		{"${NESTED}", "${A}", ""},
		{"${NO}", "", "the environment variable NO is not set"},
		{"${A", "", "a variable that begins with ${ is not closed"},
		{"${}", "", "the text between ${ and } is not a variable"},
		{"${1}", "", "the text between ${ and } is not a variable"},
		{"${A-x}", "", "the text between ${ and } is not a variable"},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			got, err := expand(c.text, lookup)
			fault := ""
			if err != nil {
				fault = err.Message
			}
			if got != c.want || fault != c.fault {
				t.Errorf("%q, %q; want %q, %q", got, fault, c.want, c.fault)
			}
		})
	}
}
