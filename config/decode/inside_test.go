package decode_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fanfold/fanfold/config/decode"
)

// TestInside: the place of a byte of a text is where the file has it, however YAML writes the text.
func TestInside(t *testing.T) {
	t.Parallel()
	env := decode.Environment{Lookup: func(name string) (string, bool) {
		return map[string]string{"LONG": "a much longer\nvalue"}[name], name == "LONG"
	}}
	for name, file := range map[string]string{
		"plain":              "text: SELECT 'ü', :here FROM t # a comment\n",
		"plain lines":        "text: SELECT a,\n  b\n\n  FROM t WHERE :here\nmore: 1\n",
		"double quotes":      `text: "SELECT \"ü\", \t'\u00e9\x41\U0001F600' , :here FROM t"` + "\n",
		"double quote lines": "text: \"SELECT a,\n  b \\\n  FROM\\n t\n\n  WHERE :here\"\n",
		"single quotes":      "text: 'SELECT ''ü'', :here FROM t'\n",
		"single quote lines": "text: 'SELECT ''a'',\r\n\r\n  :here\r\n  FROM t'\r\n",
		"literal":            "text: |\n\n  SELECT 'ü',\n\n    # no comment\n    :here\n  FROM t\n",
		"literal, indented":  "text: |2-  # a header\n     SELECT a\n   FROM t WHERE :here\n",
		"folded":             "text: >\n\n  SELECT 'ü',\n  b\n\n    , c\n  FROM t WHERE :here\n",
		"folded, CRLF":       "text: >-\r\n  SELECT a,\r\n  :here\r\n",
		"a new line":         "text:\n  SELECT a,\n  :here\n",
		"an anchor":          "text: &query \"SELECT :here\"\n",
		"an anchor's block":  "text: &query |\n  SELECT\n  :here\n",
		"an alias":           "other: &query >\n  SELECT\n  :here\ntext: *query\n",
		"variables":          "text: \"SELECT '${LONG}', '${NONE:-x}', $${ :here\"\n",
		"first":              "text: >\n  :here is a parameter\n",
		"last":               "text: >\n  it is :here\n",
	} {
		var into struct {
			Text  string `yaml:"text"`
			Other string `yaml:"other"`
			More  string `yaml:"more"`
		}
		r := decode.NewReader("f.yaml", env, decode.Language{})
		if !r.Decode([]byte(file), &into) || len(r.Problems()) > 0 {
			t.Errorf("%s: %v", name, r.Problems())
			continue
		}
		r.Of(&into).Get("text").Inside(strings.Index(into.Text, ":here")).Problem("here", "")
		before, _, _ := strings.Cut(file, ":here")
		start := strings.LastIndexByte(before, '\n') + 1
		want := fmt.Sprintf("f.yaml:%d:%d: ", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[start:]))
		if got := r.Problems()[0]; !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%s: %v, want %s", name, got, want)
		} else if !strings.Contains(got.Value, ":here") || strings.Contains(got.Value, "\n") {
			t.Errorf("%s: the value is %q, want the line", name, got.Value)
		}
	}
}
