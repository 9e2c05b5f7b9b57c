package config

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// parse reads a single value of the file as the type and the tag of its field say.
func parse(text string, t reflect.Type, tag reflect.StructTag) (any, *report.Mistake) {
	if form, ok := forms[tag.Get("form")]; ok {
		return text, form(text)
	}
	if parse, ok := types[t]; ok {
		return parse(text)
	}
	if words := wordsOf(t, tag); words != nil {
		return parseWord(text, words, t, tag)
	}
	switch {
	case t == durationType:
		return parseDuration(text, tag)
	case tag.Get("unit") == "bytes":
		return parseSize(text, tag)
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return parseInteger(text, tag)
	}
	return text, nil
}

var durationType = reflect.TypeFor[time.Duration]()

// word is an allowed value of a field: as it is in the file, and in the field.
type word struct{ file, value string }

// vocabularies are the words of types that have them.
var vocabularies = map[reflect.Type][]string{
	reflect.TypeFor[report.ListenerKind]():  texts(report.ListenerKinds),
	reflect.TypeFor[report.ParameterType](): texts(report.ParameterTypes),
	reflect.TypeFor[report.JoinType]():      texts(report.JoinTypes),
	reflect.TypeFor[report.Kind]():          texts(report.Kinds),
}

// wordsOf returns the allowed values of a field; nil: it has others.
func wordsOf(t reflect.Type, tag reflect.StructTag) []word {
	names := vocabularies[t]
	if enum := tag.Get("enum"); enum != "" {
		names = strings.Split(enum, ",")
	} else if t.Kind() == reflect.Bool {
		names = []string{"true", "false"}
	}
	var words []word
	for i, name := range names {
		file, value, ok := strings.Cut(name, "=")
		switch {
		case ok:
		case t.Kind() == reflect.Bool && tag.Get("enum") != "":
			value = strconv.FormatBool(i == 1)
		default:
			value = file
		}
		words = append(words, word{file, value})
	}
	return words
}

// parseWord reads one of the words.
func parseWord(text string, words []word, t reflect.Type, tag reflect.StructTag) (any, *report.Mistake) {
	i := slices.IndexFunc(words, func(w word) bool { return w.file == text })
	switch {
	case i >= 0 && t.Kind() == reflect.Bool:
		return words[i].value == "true", nil
	case i >= 0:
		return words[i].value, nil
	}
	var names []string
	for _, w := range words {
		names = append(names, w.file)
	}
	remedy := tag.Get("why")
	if near := nearest(text, names); near != "" {
		remedy = strings.TrimSpace(fmt.Sprintf("Did you mean %q? ", near) + remedy)
	}
	return nil, &report.Mistake{Message: noneOf(names), Remedy: remedy}
}

// noneOf is the message for a value that is not one of these.
func noneOf(names []string) string {
	switch last := len(names) - 1; last {
	case 0:
		return "not the word " + names[0]
	case 1:
		return "neither " + names[0] + " nor " + names[1]
	default:
		return "none of " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
}

func parseInteger(text string, tag reflect.StructTag) (any, *report.Mistake) {
	n, err := strconv.ParseInt(text, 10, 64)
	lower, upper := tag.Get("min"), tag.Get("max")
	if err != nil || n < number(lower) || n > number(upper) {
		return nil, outside("whole number", lower, upper, tag)
	}
	return n, nil
}

// number reads a number of a tag.
func number(text string) int64 {
	n, _, ok := size(text)
	if !ok {
		panic("config: not a number in a tag: " + text)
	}
	return n
}

// outside is the mistake of a value outside of its bounds.
func outside(what, lower, upper string, tag reflect.StructTag) *report.Mistake {
	return &report.Mistake{Message: fmt.Sprintf("not a %s from %s to %s", what, lower, upper), Remedy: tag.Get("why")}
}

// The bounds of a duration that has no others. The upper one keeps sums of durations far
// from the end of time.Duration.
const (
	minDuration = "1ms"
	maxDuration = "720h"
)

// parseDuration reads a duration such as 90s or 1h30m.
func parseDuration(text string, tag reflect.StructTag) (any, *report.Mistake) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, &report.Mistake{Message: "not a duration", Remedy: "Write a number with its unit, such as 500ms, 30s, 10m or 1h30m"}
	}
	lower, upper := cmp.Or(tag.Get("min"), minDuration), cmp.Or(tag.Get("max"), maxDuration)
	if d < duration(lower) || d > duration(upper) {
		return nil, outside("duration", lower, upper, tag)
	}
	return d, nil
}

// duration reads a duration of a tag.
func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

var sizeForm = regexp.MustCompile(`^([0-9]{1,13}) ?(|[KMG]B)$`)

// size reads a number of bytes, plain or with a unit, which is a power of 1024 as in
// redis.conf. False if it is none, or too large for 64 bits.
func size(text string) (bytes int64, unit string, ok bool) {
	parts := sizeForm.FindStringSubmatch(strings.ToUpper(text))
	if parts == nil {
		return 0, "", false
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	bits := map[string]uint{"": 0, "KB": 10, "MB": 20, "GB": 30}[parts[2]]
	if err != nil || n > math.MaxInt64>>bits {
		n, bits = math.MaxInt64, 0
	}
	return n << bits, parts[2], true
}

func parseSize(text string, tag reflect.StructTag) (any, *report.Mistake) {
	n, unit, ok := size(text)
	if !ok {
		return nil, &report.Mistake{Message: "not a size", Remedy: "Write a number of bytes, or one with KB, MB or GB, such as 512MB"}
	}
	lower, upper := tag.Get("min"), tag.Get("max")
	if n >= number(lower) && n <= number(upper) {
		return n, nil
	}
	wrong := outside("size", lower, upper, tag)
	if unit == "" {
		wrong.Remedy = "A number without a unit is in bytes"
	}
	return nil, wrong
}

var rateForm = regexp.MustCompile(`^([1-9][0-9]{0,5})/(s|m|h)$`)

// parseRate reads a number per second, minute or hour.
func parseRate(text string) (any, *report.Mistake) {
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		return nil, &report.Mistake{Message: "not a rate", Remedy: "Write a whole number from 1 to 999999 in a second, minute or hour, such as 10/s or 300/m"}
	}
	count, _ := strconv.Atoi(parts[1]) // six digits
	return Rate{Count: count, Per: map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[parts[2]]}, nil
}

var dayForm = regexp.MustCompile(`^([1-9][0-9]{0,3})([dw])$`)

// parseEvery reads the period of a timer, in UTC.
func parseEvery(text string) (any, *report.Mistake) {
	const form = "Write exact hours such as 24h, or calendar days in time_zone: 1d, 1w"
	if m := dayForm.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // four digits at most
		if m[2] == "w" {
			n *= 7
		}
		return report.Every{Days: n, Zone: time.UTC}, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return nil, &report.Mistake{Message: "not a period", Remedy: form}
	case d < time.Second || d > 10*366*24*time.Hour || d%time.Millisecond != 0:
		return nil, &report.Mistake{Message: "not a period of 1s to ten years", Remedy: form}
	}
	return report.Every{Exact: d}, nil
}
