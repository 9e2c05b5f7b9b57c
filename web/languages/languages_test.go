package languages

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	placeholder = regexp.MustCompile(`\{[a-z]+\}`)
	form        = regexp.MustCompile(`\.(zero|one|two|few|many|other)$`)
)

// TestEveryLanguageIsComplete: every language has every key with the same placeholders, and the forms of plurals
// that its rules need.
func TestEveryLanguageIsComplete(t *testing.T) {
	t.Parallel()
	english := Choose("en")
	of := func(text string) []string {
		return slices.Compact(slices.Sorted(slices.Values(placeholder.FindAllString(text, -1))))
	}
	for _, l := range all {
		want := map[string]string{}
		for key, text := range english.texts {
			if stem := form.ReplaceAllString(key, ""); stem == key {
				want[key] = text
			} else {
				for n := range int64(200) {
					want[stem+"."+l.form(n)] = english.texts[stem+".other"]
				}
			}
		}
		for key, text := range want {
			got, ok := l.texts[key]
			had := of(got)
			if form.MatchString(key) && !strings.HasSuffix(key, ".other") { // "one other report" needs no number
				text += "{n}"
				had = of(got + "{n}")
			}
			if !ok || !slices.Equal(had, of(text)) {
				t.Errorf("%s: %s has %q, not the placeholders %q", l.Code, key, got, of(text))
			}
		}
		for key := range maps.Keys(l.texts) {
			if _, ok := want[key]; !ok {
				t.Errorf("%s: no page needs %s", l.Code, key)
			}
		}
		if months := strings.Fields(l.Say("months")); len(months) != 12 {
			t.Errorf("%s: %d months", l.Code, len(months))
		}
	}
}

// TestPagesUseEveryKey: every key in the code is a text, and every text is used.
func TestPagesUseEveryKey(t *testing.T) {
	t.Parallel()
	var files []string
	for _, of := range []string{"../link/*.*", "../login/*.*", "../../order/*.*", "../../waiting/*.*"} {
		found, err := filepath.Glob(of)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	source := ""
	for _, name := range append(files, "languages.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	english := Choose("en").texts
	for _, call := range regexp.MustCompile(`\b(Say|Count) ?\(?"([a-z.-]*[a-z])"[,) }]`).FindAllStringSubmatch(source, -1) {
		key := call[2]
		if call[1] == "Count" {
			key += ".other"
		}
		if _, ok := english[key]; !ok {
			t.Errorf("no text of %s", key)
		}
	}
	for key := range english {
		stem := strings.TrimSuffix(form.ReplaceAllString(key, ""), ".says")
		if !strings.Contains(source, `"`+stem+`"`) && !strings.HasPrefix(key, "give.") &&
			key != "order.true" && key != "order.false" {
			t.Errorf("no page uses %s", key)
		}
	}
}

// TestForms has numbers, plurals and times in every language.
func TestForms(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 3, 4, 6, 6, 7, 0, time.FixedZone("", 3600))
	for code, want := range map[string]string{
		"en": "1 row|41,000 rows|1.2|4 March 2024, 05:06 UTC|One other report is ahead of it.",
		"de": "1 Zeile|41.000 Zeilen|1,2|4. März 2024, 05:06 UTC|Ein anderer Bericht kommt vorher.",
		"es": "1 fila|41.000 filas|1,2|4 de marzo de 2024, 05:06 UTC|Hay otro informe antes.",
		"zh": "1 行|41,000 行|1.2|2024年3月4日 05:06 UTC|前面还有 1 个报表。",
	} {
		l := Choose(code)
		got := strings.Join([]string{l.Count("rows", 1), l.Count("rows", 41_000), l.Decimal(1.23, 1), l.Time(at),
			l.Count("waiting.before", 1)}, "|")
		if got != want || l.Code != code {
			t.Errorf("%s: %s", l.Code, got)
		}
	}
}

// TestChoose: the address decides before the browser, and the configuration is last.
func TestChoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ otherwise, address, browser, want string }{
		{"en", "", "", "en"},
		{"es", "", "", "es"},
		{"es", "", "fr-FR,fr;q=0.9", "es"},
		{"en", "", "fr-FR,de-AT;q=0.8,en;q=0.5", "de"},
		{"de", "", "en-GB,en;q=0.9,de;q=0.1", "en"},
		{"en", "zh", "de", "zh"},
		{"en", "", "zh-CN,zh;q=0.9", "zh"},
		{"en", "xx", "es-MX", "es"},
		{"de", "../../etc", "\x00;;", "de"},
	} {
		if l := Choose(c.otherwise, c.address, c.browser); l.Code != c.want {
			t.Errorf("%+v: %s", c, l.Code)
		}
	}
}
