package format

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/fanfold/fanfold/report"
)

// Locale is the tag of a language, with a country if need be, such as de or fr-CH; empty: none.
type Locale string

// Parse sets it to a text.
func (l *Locale) Parse(text string) *report.Mistake {
	const remedy = "Write a language, or a language and a country, such as de, en-US or fr-CH"
	tag, err := language.Parse(text)
	if err != nil || tag == language.Und {
		return &report.Mistake{Message: "not a locale", Remedy: remedy}
	}
	if strings.Contains(text, "_") {
		return &report.Mistake{Message: "not a locale: its parts are joined by -", Remedy: "Write " + tag.String()}
	}
	if _, _, country := tag.Raw(); country != (language.Region{}) && !country.IsCountry() && !country.IsGroup() {
		return &report.Mistake{Message: "no country has the code " + country.String(), Remedy: remedy}
	}
	*l = Locale(text)
	if n := l.numbers(); n.decimal == "" {
		return &report.Mistake{Message: "the numbers of this locale have other digits than 0 to 9",
			Remedy: "Add -u-nu-latn to its name, or use another one"}
	}
	return nil
}

// numbers is how a locale writes decimals.
type numbers struct {
	decimal     string
	group       string
	first, next int // digits of the last group before the decimal sign, and of the others
}

// noLocale is how decimals are written without one.
var noLocale = numbers{decimal: "."}

// numbers returns how the locale writes decimals, by the tables of CLDR; without a decimal sign if it has other digits
// than 0 to 9.
func (l Locale) numbers() numbers {
	if l == "" {
		return noLocale
	}
	text := message.NewPrinter(language.Make(string(l))).Sprint(number.Decimal(123456789.5))
	var groups, signs []string
	for text != "" {
		digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
		if digits == "" {
			return numbers{}
		}
		groups, text = append(groups, digits), text[len(digits):]
		if text != "" {
			_, size := utf8.DecodeRuneInString(text)
			signs, text = append(signs, text[:size]), text[size:]
		}
	}
	if len(signs) < 2 || len(groups) != len(signs)+1 { // a locale that groups no digits
		return numbers{decimal: signs[len(signs)-1]}
	}
	last := len(signs) - 1
	return numbers{decimal: signs[last], group: signs[0], first: len(groups[last]), next: len(groups[last-1])}
}

// numberOf returns the number in a cell, which can be a text, as that of a decimal.
func numberOf(cell []byte) (number []byte, ok bool) {
	if len(cell) > 2 && cell[0] == '"' {
		cell = cell[1 : len(cell)-1]
	}
	digits := bytes.TrimLeft(cell, "+-")
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' {
		return nil, false
	}
	return cell, len(bytes.Trim(digits, "0123456789.eE+-")) == 0
}

// appendNumber appends a number; grouped if the locale groups its digits.
func (n *numbers) appendNumber(dst, cell []byte, grouped bool) []byte {
	whole, fraction, decimal := bytes.Cut(cell, []byte{'.'})
	exponent := bytes.ContainsAny(cell, "eE")
	if whole[0] == '-' || whole[0] == '+' {
		dst, whole = append(dst, whole[0]), whole[1:]
	}
	if grouped && n.group != "" && !exponent {
		for len(whole) > n.first {
			head := (len(whole)-n.first-1)%n.next + 1
			dst = append(append(dst, whole[:head]...), n.group...)
			whole = whole[head:]
		}
	}
	if dst = append(dst, whole...); decimal {
		dst = append(append(dst, n.decimal...), fraction...)
	}
	return dst
}
