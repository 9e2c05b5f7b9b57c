package format

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/report"
)

func TestIsFormula(t *testing.T) {
	t.Parallel()
	for kind, texts := range map[report.Kind]map[string]bool{
		report.KindText: {
			"": false, "a": false, "=": false, "-": false, "--": true, "=1": true, "@x": true, "\tx": true, "\rx": true, "\nx": true, "\x00x": true,
			"-1": false, "+1": false, "-1.5": false, "-.5": false, "-5.": false, "-.": true, "+1e9": false, "-1E-7": false, "-1e": true, "-1e+": true,
			"-1,5": true, "+49 30": true, "-1-1": true, "1=": false, "'": false, "'a": false, "'=1": true, "''-1": true, "'-": true, "é=": false,
			" =1": true, "\u00a0\u3000@x": true, "\ufeff=1": true, "\u200b+x": true, " \t=1": true, "' =1": true, "＝1": true, " ＋x": true, "－x": true, "＠x": true,
			" ": false, " -1": false, " -": false, "＝": false, " x": false, "\u3000x": false, "1 =": false, "' -1": true, "' x": false, "ｘ": false, "\xef\xbc": false,
		},
		report.KindDecimal:  {"-1.50": false, "-1": false, "-x": true, "=1": true},
		report.KindTime:     {"-12:00:00": false, "-12:00:00.5": false, "-A1": true},
		report.KindDatetime: {"-0001-01-01 00:00:00": false, "=x": true},
		report.KindBinary:   {"+AAA": false, "=x": false},
		report.KindJSON:     {"-1": false, "-1-x": true, `{"a": 1}`: false},
	} {
		for text, want := range texts {
			if got := IsFormula([]byte(text), kind); got != want {
				t.Errorf("%s %q: %v", kind, text, got)
			}
		}
	}
}

// TestEscapedTextsComeBack checks that removing one quote from every text that begins with quotes
// and the sign of a formula restores the original text.
func TestEscapedTextsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("'=+-@\t1.ae ＝\u00a0")), 0, 6, -1).Draw(t, "text")
		got := []byte(text)
		if IsFormula(got, report.KindText) {
			got = append([]byte{'\''}, got...)
		}
		back := unescaped(string(got))
		if back == string(got) && IsFormula(got, report.KindText) {
			t.Fatalf("%q is still one", got)
		}
		if back != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestParseLayout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]layout{
		"YYYYMMDD": {"YYYY", "MM", "DD"}, "YY-MM": {"YY", "-", "MM"}, "DD é": {"DD", " ", "\xc3", "\xa9"}, "TT": nil, "": nil, "D.M": nil, "YYYY-mm": nil, "DD\n": nil,
		"MM.DD.MM": nil, "YY/YYYY": nil,
	} {
		got, err := parseLayout(text, dateTokens)
		if !reflect.DeepEqual(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, good := range map[string]bool{"hh:mm AM": true, "DD HH:mm:ss.fff ZZ": true, "HH:MM DD.MM": false, "hh:mm": false, "HH:mm AM": false, "HH hh AM": false, "fff ffffff": false, "ZZ ZZ": false} {
		if _, err := parseLayout(text, datetimeTokens); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// unescaped removes one quote from a text that begins with quotes and the sign of a formula, perhaps
// with spaces between them, as a program that reads the file does.
func unescaped(text string) string {
	if rest := strings.TrimLeft(text, "'"); rest != text && formulaSign(skipSpaces([]byte(rest))) > 0 {
		return text[1:]
	}
	return text
}

// TestHarmlessTextsAreNoFormulas: a text that the first byte alone shows to be no formula is none.
func TestHarmlessTextsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for first := range 256 {
		for _, rest := range []string{"", "=1", "1", " =1", "'=1"} {
			for _, kind := range []report.Kind{report.KindText, report.KindDecimal, report.KindTime, report.KindBinary} {
				text := append([]byte{byte(first)}, rest...)
				if beginsNoFormula(text) && IsFormula(text, kind) {
					t.Errorf("%s %q is a formula", kind, text)
				}
			}
		}
	}
}
