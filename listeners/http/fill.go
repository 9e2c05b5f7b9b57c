package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/report"
)

// values returns the value for a name: a parameter's as Report.Bind makes it, a []any of
// json.RawMessage for the values of an earlier stage, a string for {id} and {key}. False
// if there is none.
type values func(name string) (any, bool)

// errValue is the error of a value that cannot be used in its position.
var errValue = errors.New("a value that cannot be used here")

// fillRequest puts values into a request, each escaped for its position: the path and query
// of its URL, below the API's, and its body, nil if it has none.
func fillRequest(r Request, values values) (target string, body []byte, err error) {
	segments := strings.Split(r.Path, "/")
	for i, s := range segments {
		if segments[i], err = fillSegment(s, values); err != nil {
			return "", nil, err
		}
	}
	target = strings.Join(segments, "/")
	separator := "?"
	for _, p := range r.Query {
		value, err := fill(p.Value, values)
		if err != nil {
			return "", nil, err
		}
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, v := range list {
			text, ok := plainText(v)
			if !ok {
				continue // null
			}
			target += separator + url.QueryEscape(p.Name) + "=" + url.QueryEscape(text)
			separator = "&"
		}
	}
	if r.JSON == nil {
		return target, nil, nil
	}
	tree, err := fillTree(r.JSON, values)
	if err != nil {
		return "", nil, err
	}
	return target, report.EncodeBound(tree), nil
}

// fillSegment fills a segment of a path. A value never becomes several segments.
func fillSegment(segment string, values values) (string, error) {
	if !isName(segment) && !strings.HasPrefix(segment, "::") && !brace.MatchString(segment) {
		return segment, nil
	}
	var wrong error
	value, err := fillWith(segment, values, url.PathEscape)
	if err != nil {
		return "", err
	}
	text, ok := plainText(value)
	switch {
	case !ok:
		wrong = fmt.Errorf("%w: null in the path of a URL", errValue)
	case text == "" || climbs(segment, text):
		// For a server, or a proxy that decodes %2F, these would change the path.
		wrong = fmt.Errorf("%w: %q in the path of a URL", errValue, text)
	}
	if isName(segment) {
		text = url.PathEscape(text)
	}
	return text, wrong
}

func isName(text string) bool {
	_, ok := nameIn(text)
	return ok
}

// climbs reports whether a segment changes the path once its slashes are decoded. Values of {id} and
// {key} are already escaped in it.
func climbs(segment, text string) bool {
	if !isName(segment) {
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	return ask.HasDotSegment(text)
}

// fillTree fills the texts in a JSON document.
func fillTree(value any, values values) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return fill(v, values)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			if list[i], err = fillTree(v[i], values); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for name := range v {
			if object[name], err = fillTree(v[name], values); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return value, nil
}

// fill returns the value of one text.
func fill(text string, values values) (any, error) { return fillWith(text, values, nil) }

// fillWith is fill with an escape function for {id} and {key}.
func fillWith(text string, values values, escape func(string) string) (any, error) {
	if name, ok := nameIn(text); ok {
		value, ok := values(name)
		if !ok {
			return nil, fmt.Errorf("%w: :%s has no value", errValue, name)
		}
		return value, nil
	}
	var wrong error
	text = brace.ReplaceAllStringFunc(text, func(m string) string {
		value, ok := values(m)
		s, isText := value.(string)
		if !ok || !isText {
			wrong = fmt.Errorf("%w: %s has no value", errValue, m)
		}
		if escape != nil {
			s = escape(s)
		}
		return s
	})
	if strings.HasPrefix(text, "::") {
		text = text[1:]
	}
	return text, wrong
}

// plainText returns a single value as it appears in a URL; false for null.
func plainText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case bool:
		return strconv.FormatBool(v), true
	case time.Time:
		return v.Format(time.RFC3339Nano), true
	case json.RawMessage:
		var text string
		if json.Unmarshal(v, &text) == nil && !bytes.Equal(v, []byte("null")) {
			return text, true
		}
		return string(v), !bytes.Equal(v, []byte("null"))
	}
	return "", false
}
