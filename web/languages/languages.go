package languages

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

//go:embed texts
var files embed.FS

// Language has the texts of a language. It is safe for concurrent use.
type Language struct {
	Code  string // such as en, for the page and its addresses
	tag   language.Tag
	texts map[string]string // by key
}

// all are the languages, in the order of their codes.
var all = read()

// read reads the files, which are part of the binary.
func read() (all []*Language) {
	entries, err := files.ReadDir("texts")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		code := strings.TrimSuffix(e.Name(), ".json")
		l := &Language{Code: code, tag: language.MustParse(code)}
		text, err := files.ReadFile("texts/" + e.Name())
		if err == nil {
			err = json.Unmarshal(text, &l.texts)
		}
		if err != nil {
			panic(fmt.Errorf("%s: %w", e.Name(), err))
		}
		all = append(all, l)
	}
	return all
}

// Codes returns the codes of all languages.
func Codes() (codes []string) {
	for _, l := range all {
		codes = append(codes, l.Code)
	}
	return codes
}

// Choose returns the first language that a person has asked for, by a code or in the form of the header
// Accept-Language. If there is none, it returns the language with the code otherwise.
func Choose(otherwise string, asked ...string) *Language {
	// A matcher returns its first language if it finds no match.
	order := slices.Clone(all)
	if i := slices.Index(Codes(), otherwise); i > 0 {
		order = slices.Insert(slices.Delete(order, i, i+1), 0, all[i])
	}
	tags := make([]language.Tag, len(order))
	for i, l := range order {
		tags[i] = l.tag
	}
	_, i := language.MatchStrings(language.NewMatcher(tags), asked...)
	return order[i]
}

// Say returns the text of a key. Pairs are the names of its placeholders and their values. A key without a text
// returns itself.
func (l *Language) Say(key string, pairs ...string) string {
	text, ok := l.texts[key]
	if !ok {
		return key
	}
	replace := make([]string, len(pairs))
	for i := 0; i+1 < len(pairs); i += 2 {
		replace[i], replace[i+1] = "{"+pairs[i]+"}", pairs[i+1]
	}
	return strings.NewReplacer(replace...).Replace(text)
}

// Count is like Say for a number: it chooses the form of the plural, and {n} is the number.
func (l *Language) Count(key string, n int64, pairs ...string) string {
	return l.Say(key+"."+l.form(n), append(pairs, "n", l.Number(n))...)
}

// form returns the form of the plural of a number.
func (l *Language) form(n int64) string {
	form := plural.Cardinal.MatchPlural(l.tag, int(n), 0, 0, 0, 0)
	return [...]string{"other", "zero", "one", "two", "few", "many"}[form]
}

// List joins texts.
func (l *Language) List(texts []string) string { return strings.Join(texts, l.Say("comma")) }

// Number formats a number.
func (l *Language) Number(n int64) string {
	return message.NewPrinter(l.tag).Sprint(number.Decimal(n))
}

// Decimal formats a number with a fixed number of decimals.
func (l *Language) Decimal(value float64, decimals int) string {
	return message.NewPrinter(l.tag).Sprint(number.Decimal(value, number.Scale(decimals)))
}

// Time formats a time in UTC.
func (l *Language) Time(t time.Time) string {
	t = t.UTC()
	return l.Say("time", "day", strconv.Itoa(t.Day()), "month", strings.Fields(l.Say("months"))[t.Month()-1],
		"year", strconv.Itoa(t.Year()), "clock", t.Format("15:04"))
}
