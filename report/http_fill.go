package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	httpName = regexp.MustCompile(`^:([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)$`)

	// HTTPBrace is what stands for the vendor's job or the idempotency key in a request.
	HTTPBrace = regexp.MustCompile(`\{(id|key)\}`)
)

// HTTPValues gives the value for a name: a parameter's as Report.Bind makes it, a
// []any of json.RawMessage for the values of an earlier stage, a string for id and
// key. False where there is none.
type HTTPValues func(name string) (any, bool)

// HTTPUse is a name in a request and where it stands.
type HTTPUse struct {
	Name string // with its colon where it is none
	List bool   // a list may stand there
}

// Uses lists the names in a request, in its order; id and key among them.
func (r HTTPRequest) Uses() []HTTPUse {
	var found []HTTPUse
	add := func(text string, list bool) {
		if m := httpName.FindStringSubmatch(text); m != nil {
			found = append(found, HTTPUse{m[1], list})
		} else if strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "::") {
			found = append(found, HTTPUse{text, list})
		}
		for _, m := range HTTPBrace.FindAllStringSubmatch(text, -1) {
			found = append(found, HTTPUse{"{" + m[1] + "}", false})
		}
	}
	for segment := range strings.SplitSeq(r.Path, "/") {
		add(segment, false)
	}
	for _, p := range r.Query {
		add(p.Value, true)
	}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case string:
			add(v, true)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	walk(r.JSON)
	return found
}

// UsesKey tells whether {key} is in a request.
func (r HTTPRequest) UsesKey() bool { return r.UsesName("{key}") }

// UsesID tells whether {id}, the vendor's job, is in a request.
func (r HTTPRequest) UsesID() bool { return r.UsesName("{id}") }

// UsesName tells whether a name, such as {id}, is in a request.
func (r HTTPRequest) UsesName(name string) bool {
	return slices.ContainsFunc(r.Uses(), func(u HTTPUse) bool { return u.Name == name })
}

// Fill puts values into a request, each escaped for its place: the path and query of
// its URL, below the API's, and its body, nil where it has none. The error matches
// ErrValue where a value cannot stand in its place.
func (r HTTPRequest) Fill(values HTTPValues) (target string, body []byte, err error) {
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
	return target, EncodeBound(tree), nil
}

// fillSegment fills a segment of a path. A value is one segment, whatever is in it.
func fillSegment(segment string, values HTTPValues) (string, error) {
	if !httpName.MatchString(segment) && !strings.HasPrefix(segment, "::") && !HTTPBrace.MatchString(segment) {
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
		wrong = fmt.Errorf("%w: null in the path of a URL", ErrValue)
	case text == "" || climbs(segment, text):
		// A server, or a proxy that decodes %2F, would take these for a way to another
		// place.
		wrong = fmt.Errorf("%w: %q in the path of a URL", ErrValue, text)
	}
	if httpName.MatchString(segment) {
		text = url.PathEscape(text)
	}
	return text, wrong
}

// climbs tells whether a segment leads to another place once its slashes are decoded.
// Values of {id} and {key} are escaped in it already.
func climbs(segment, text string) bool {
	if !httpName.MatchString(segment) {
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	return hasDots(text)
}

// hasDots tells whether one of a text's parts, between slashes of either kind, is . or ..
func hasDots(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), func(part string) bool {
		return part == "." || part == ".."
	})
}

// fillTree fills the texts in a JSON document.
func fillTree(value any, values HTTPValues) (any, error) {
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

// fill gives the value of one text.
func fill(text string, values HTTPValues) (any, error) { return fillWith(text, values, nil) }

// fillWith is fill, in which what {id} and {key} stand for is escaped.
func fillWith(text string, values HTTPValues, escape func(string) string) (any, error) {
	if m := httpName.FindStringSubmatch(text); m != nil {
		value, ok := values(m[1])
		if !ok {
			return nil, fmt.Errorf("%w: :%s has no value", ErrValue, m[1])
		}
		return value, nil
	}
	var wrong error
	text = HTTPBrace.ReplaceAllStringFunc(text, func(m string) string {
		value, ok := values(m)
		s, isText := value.(string)
		if !ok || !isText {
			wrong = fmt.Errorf("%w: %s has no value", ErrValue, m)
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

// plainText writes a single value as it stands in a URL; false for null.
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
	case json.RawMessage:
		var text string
		if json.Unmarshal(v, &text) == nil && !bytes.Equal(v, []byte("null")) {
			return text, true
		}
		return string(v), !bytes.Equal(v, []byte("null"))
	}
	return "", false
}
