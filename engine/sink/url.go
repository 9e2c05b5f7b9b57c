package sink

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// ErrURL is matched by the errors of ParseURL.
var ErrURL = errors.New("sink: bad URL")

// The schemes of sink URLs.
const (
	SchemeFile = "file"
	SchemeGCS  = "gs"
)

// ParseURL takes a sink's URL apart:
//
//	gs://bucket/some/prefix  "gs", "bucket", "some/prefix"
//	file:///var/reports      "file", "/var/reports", ""
//
// Slashes at the end do not count. A gs URL is taken as it stands, as Google's
// tools do it; in a file URL %20 and the like are unescaped. The error matches
// ErrURL.
func ParseURL(text string) (scheme, place, prefix string, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case ok && scheme == SchemeGCS:
		place, prefix, _ = strings.Cut(rest, "/")
		prefix = strings.TrimRight(prefix, "/")
		if place == "" {
			return "", "", "", badURL(text, "no bucket")
		}
		if err := checkPrefix(prefix); err != nil {
			return "", "", "", badURL(text, err.Error())
		}
		return scheme, place, prefix, nil
	case ok && scheme == SchemeFile:
		place, err := filePath(text)
		if err != nil {
			return "", "", "", badURL(text, err.Error())
		}
		return scheme, place, "", nil
	}
	return "", "", "", badURL(text, "neither gs:// nor file://")
}

func badURL(text, reason string) error {
	return fmt.Errorf("%w %q: %s; write gs://bucket/prefix or file:///directory", ErrURL, text, reason)
}

// checkPrefix is milder than CheckName: a bucket's folders have the names that
// others gave them.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("the prefix has the part %q", part)
		}
		// GCS tools read ? and * as patterns, # as a generation.
		if strings.ContainsAny(part, "?*#") || strings.ContainsFunc(part, control) {
			return fmt.Errorf("the prefix has a character that is not allowed in %q", part)
		}
	}
	return nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// filePath returns the path that a file URL names, cleaned.
func filePath(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", errors.New("not a URL")
	case u.Host != "" || u.User != nil:
		return "", errors.New("a host, where three slashes should be")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return "", errors.New("a query or fragment")
	case !strings.HasPrefix(u.Path, "/"):
		return "", errors.New("the path is not absolute")
	case strings.ContainsFunc(u.Path, control):
		return "", errors.New("the path has control characters")
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return "", fmt.Errorf("the path has the part %q", part)
		}
	}
	return path.Clean(u.Path), nil
}
