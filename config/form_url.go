package config

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// badRedis rejects a URL that a Redis client does not understand. The parser's own
// error would show the password.
func badRedis(text string) *report.Mistake {
	u, err := url.Parse(text)
	ok := err == nil && u.Opaque == ""
	if ok && u.Scheme == "unix" {
		ok = u.Path != ""
	} else if ok {
		db := strings.TrimPrefix(u.Path, "/")
		_, err = strconv.ParseUint(db, 10, 16)
		ok = slices.Contains([]string{"redis", "rediss", "valkey", "valkeys"}, u.Scheme) && u.Host != "" &&
			(db == "" || err == nil)
	}
	return unless(ok, "not a valid Redis URL",
		"Write redis://[user:password@]host:port/db, rediss:// for TLS, or unix://path; escape special characters in the password, such as @ as %40")
}

var (
	pathForm   = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@%{}-]*)+$`)
	halfEscape = regexp.MustCompile(`%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)`)
	anyBrace   = regexp.MustCompile(`\{[^}]*\}?|\}`)
	jobBrace   = regexp.MustCompile(`^\{(id|key)\}$`)
)

// badURL rejects a URL to which no path can be appended.
func badURL(text string) *report.Mistake {
	u, err := url.Parse(text)
	ok := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Opaque == "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(text, "#") &&
		pathForm.MatchString(u.EscapedPath()+"/") && !dotted(u.EscapedPath())
	return unless(ok, "not a valid HTTP URL", "")
}

// originForm is the form in which browsers name the origin of a page.
var originForm = regexp.MustCompile(`^https?://([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?$`)

// badOrigin rejects what no browser sends as the origin of a page.
func badOrigin(text string) *report.Mistake {
	standard := strings.HasPrefix(text, "https:") && strings.HasSuffix(text, ":443") ||
		strings.HasPrefix(text, "http:") && strings.HasSuffix(text, ":80")
	return unless(originForm.MatchString(text) && !standard, "not the origin of a page",
		"Write https://host or https://host:port in lower case, without a path and without the standard port")
}

// badPath rejects a text that is not the path of a request.
func badPath(text string) *report.Mistake {
	const form = "Write the path below the API's url, such as /exports/{id}; a parameter must be a whole segment: /users/:user"
	switch {
	case !pathForm.MatchString(text):
		return &report.Mistake{Message: "not a path", Remedy: form + "; put what follows a ? into query"}
	case halfEscape.MatchString(text):
		return &report.Mistake{Message: "a % must be followed by two hexadecimal digits", Remedy: "Write %25 for a %"}
	case dotted(text):
		return &report.Mistake{Message: "a segment of the path is . or ..", Remedy: form}
	}
	for _, brace := range anyBrace.FindAllString(text, -1) {
		if !jobBrace.MatchString(brace) {
			return &report.Mistake{Message: "a { or } that is not part of {id} or {key}",
				Remedy: "Use {id} for the job id, {key} for the idempotency key, or a parameter as a whole segment: /:name"}
		}
	}
	return nil
}

// dotted reports whether a segment of a path is . or .., also if escaped as %2e.
func dotted(path string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.ToLower(path), "%2e", "."), "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}
