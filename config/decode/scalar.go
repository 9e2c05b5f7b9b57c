package decode

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

// parse reads a single value for a field of this type and tag.
func (l Language) parse(text string, t reflect.Type, tag reflect.StructTag) (any, *report.Mistake) {
	if form, ok := l.Forms[tag.Get("form")]; ok {
		return text, form(text)
	}
	if parse, ok := l.Types[t]; ok {
		return parse(text)
	}
	if into := reflect.New(t); t.Kind() == reflect.String {
		if own, ok := into.Interface().(Text); ok {
			wrong := own.Parse(text)
			return into.Elem().Interface(), wrong
		}
	}
	if words := l.WordsOf(t, tag); words != nil {
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

// parseWord returns the value of a word.
func parseWord(text string, words []Word, t reflect.Type, tag reflect.StructTag) (any, *report.Mistake) {
	i := slices.IndexFunc(words, func(w Word) bool { return w.File == text })
	switch {
	case i >= 0 && t.Kind() == reflect.Bool:
		return words[i].Value == "true", nil
	case i >= 0:
		return words[i].Value, nil
	}
	var names []string
	for _, w := range words {
		names = append(names, w.File)
	}
	remedy := tag.Get("why")
	if near := report.Nearest(text, names); near != "" {
		remedy = strings.TrimSpace(fmt.Sprintf("Did you mean %q? ", near) + remedy)
	}
	return nil, &report.Mistake{Message: NoneOf(names), Remedy: remedy}
}

// NoneOf returns the message for a value that is not one of these.
func NoneOf(names []string) string {
	switch last := len(names) - 1; last {
	case 0:
		return "not the word " + names[0]
	case 1:
		return "neither " + names[0] + " nor " + names[1]
	default:
		return "not one of " + strings.Join(names[:last], ", ") + " or " + names[last]
	}
}

func parseInteger(text string, tag reflect.StructTag) (any, *report.Mistake) {
	n, err := strconv.ParseInt(text, 10, 64)
	lower, upper := tag.Get("min"), tag.Get("max")
	if err != nil || n < Number(lower) || n > Number(upper) {
		return nil, outside("whole number", lower, upper, tag)
	}
	return n, nil
}

// Number returns a number or size in a tag. It panics if the text is neither.
func Number(text string) int64 {
	n, _, ok := size(text)
	if !ok {
		panic("config: not a number in a tag: " + text)
	}
	return n
}

// outside returns the mistake of a value out of bounds.
func outside(what, lower, upper string, tag reflect.StructTag) *report.Mistake {
	return &report.Mistake{Message: fmt.Sprintf("not a %s from %s to %s", what, lower, upper), Remedy: tag.Get("why")}
}

// MaxDuration is the default maximum of durations. It is small enough for sums to fit in a
// time.Duration.
const MaxDuration = 720 * time.Hour

// duration reads a duration such as 90s, 1h30m or 30d.
func duration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// parseDuration reads a duration.
func parseDuration(text string, tag reflect.StructTag) (any, *report.Mistake) {
	d, err := duration(text)
	if err != nil {
		return nil, &report.Mistake{Message: "not a duration",
			Remedy: "Write a number with a unit, such as 500ms, 30s, 1h30m or 7d"}
	}
	lower, upper := cmp.Or(tag.Get("min"), "1ms"), cmp.Or(tag.Get("max"), report.ShortDuration(MaxDuration))
	if d < mustDuration(lower) || d > mustDuration(upper) {
		return nil, outside("duration", lower, upper, tag)
	}
	return d, nil
}

// mustDuration reads a duration of a tag.
func mustDuration(text string) time.Duration {
	d, err := duration(text)
	if err != nil {
		panic(err)
	}
	return d
}

var sizeForm = regexp.MustCompile(`^([0-9]{1,13}) ?(|[KMG]B)$`)

// size reads a number of bytes, with or without a unit. Units are powers of 1024, as in
// redis.conf. ok is false if the text is not a size; a size above 64 bits becomes the maximum.
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
		return nil, &report.Mistake{Message: "not a size",
			Remedy: "Write a number of bytes, or a number with KB, MB or GB, such as 512MB"}
	}
	lower, upper := tag.Get("min"), tag.Get("max")
	if n >= Number(lower) && n <= Number(upper) {
		return n, nil
	}
	wrong := outside("size", lower, upper, tag)
	if unit == "" {
		wrong.Remedy = "A number without a unit is in bytes"
	}
	return nil, wrong
}
