package report

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"
)

// limit returns what is wrong with a value of the parameter's type; nil if it may have it. zone is that of the
// report.
func (p Parameter) limit(value any, zone string) *Mistake {
	text, _ := value.(string)
	is := func(option string) bool {
		return p.Type == ParamString && option == text || p.Type != ParamString && p.order(value, option, zone) == 0
	}
	message := ""
	switch {
	case len(p.Options) > 0 && !slices.ContainsFunc(p.Options, is):
		message = "not one of the options"
	case p.Minimum != "" && p.order(value, p.Minimum, zone) < 0:
		message = "below the minimum"
	case p.Maximum != "" && p.order(value, p.Maximum, zone) > 0:
		message = "above the maximum"
	case !p.Pattern.Matches(text):
		message = "a string that does not match the pattern"
	default:
		return nil
	}
	return &Mistake{message, "Give " + p.element()}
}

// order compares a value with an option or a bound.
func (p Parameter) order(value any, with, zone string) int {
	switch p.Type {
	case ParamInteger, ParamDecimal:
		return compareNumbers(fmt.Sprint(value), with)
	case ParamDatetime:
		bound, _ := p.typed(EncodeBound(with)) // it was checked
		return compareDatetimes(value, bound, zone)
	}
	return cmp.Compare(fmt.Sprint(value), with)
}

// compareDatetimes compares two values of Bind. An instant and a datetime without offset are compared in the zone.
func compareDatetimes(a, b any, zone string) int {
	x, xInstant := a.(time.Time)
	y, yInstant := b.(time.Time)
	if xInstant && yInstant {
		return x.Compare(y)
	}
	wall := func(value any) time.Time {
		if at, ok := value.(time.Time); ok {
			return AsWall(at.In(Location(zone)))
		}
		at, _ := time.Parse(time.DateTime, fmt.Sprint(value)) // it has this form
		return at
	}
	return wall(a).Compare(wall(b))
}

// number is 0.digits × 10^point, with the sign.
type number struct {
	sign   int // 0: the number is 0
	digits string
	point  int64
}

// numberOf reads a text of decimalForm. It takes no more memory than the text, whatever the exponent.
func numberOf(text string) number {
	sign := 1
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = -1, rest
	}
	var exponent int64
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		const limit = 1 << 40                              // so that the sum with the number of digits fits
		exponent, _ = strconv.ParseInt(text[i+1:], 10, 64) // beyond 64 bits, it is the nearest
		exponent, text = max(-limit, min(limit, exponent)), text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	all := whole + fraction
	digits := strings.TrimLeft(all, "0")
	zeros := len(all) - len(digits)
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return number{}
	}
	return number{sign, digits, int64(len(whole)-zeros) + exponent}
}

// compareNumbers compares two numbers of decimalForm exactly.
func compareNumbers(a, b string) int {
	x, y := numberOf(a), numberOf(b)
	if x.sign != y.sign {
		return cmp.Compare(x.sign, y.sign)
	}
	return x.sign * cmp.Or(cmp.Compare(x.point, y.point), cmp.Compare(x.digits, y.digits))
}

// Expression is a regular expression that a text must match whole. The zero value matches every text.
type Expression struct {
	text string
	form *regexp.Regexp
}

// ParseExpression reads a regular expression of Go's syntax. The mistake is nil if there is none.
func ParseExpression(text string) (Expression, *Mistake) {
	const remedy = `Write a regular expression of RE2, such as [A-Z]{3}-\d+`
	form, err := regexp.Compile(text)
	if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
		return Expression{}, &Mistake{"not a regular expression: " + wrong.Code.String(), remedy}
	} else if err != nil || text == "" {
		return Expression{}, &Mistake{"not a regular expression", remedy}
	}
	form.Longest() // if any match is the whole text, the longest one is
	return Expression{text, form}, nil
}

// String returns the expression as written.
func (e Expression) String() string { return e.text }

// Equal reports whether both have the same text.
func (e Expression) Equal(other Expression) bool { return e.text == other.text }

// Matches reports whether the whole text matches.
func (e Expression) Matches(text string) bool {
	if e.form == nil {
		return true
	}
	at := e.form.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}
