package report

import (
	"net/url"
	"path"
	"regexp"
	"strings"
)

// SinkURL is the place of the files:
//
//	gs://bucket/some/prefix  {"gs", "bucket", "some/prefix"}
//	file:///var/reports      {"file", "/var/reports", ""}
type SinkURL struct{ Scheme, Place, Prefix string }

// The schemes of sink URLs.
const (
	SchemeFile = "file"
	SchemeGCS  = "gs"
)

// SinkForm is the remedy for an invalid URL of a sink.
const SinkForm = "Write gs://bucket/prefix or file:///directory"

var bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)

// ParseSinkURL reads the URL of a sink, or of a file in one, and ignores slashes at the
// end. It unescapes a file URL, but not a gs URL, like Google's tools. The mistake is nil
// if there is none; it shows no part of the text, which can contain the value of a variable.
func ParseSinkURL(text string) (SinkURL, *Mistake) {
	u, wrong := SinkURL{}, "neither gs:// nor file://"
	if rest, ok := strings.CutPrefix(text, SchemeGCS+"://"); ok {
		u.Scheme = SchemeGCS
		u.Place, u.Prefix, _ = strings.Cut(rest, "/")
		u.Prefix = strings.TrimRight(u.Prefix, "/")
		wrong = badBucket(u.Place, u.Prefix)
	} else if strings.HasPrefix(text, SchemeFile+"://") {
		u.Scheme = SchemeFile
		u.Place, wrong = filePath(text)
	}
	if wrong != "" {
		return SinkURL{}, &Mistake{wrong, SinkForm}
	}
	return u, nil
}

// String returns the URL without slashes at the end.
func (u SinkURL) String() string {
	if u.Scheme == SchemeFile {
		return (&url.URL{Scheme: SchemeFile, Path: u.Place}).String()
	}
	return strings.TrimRight(u.Scheme+"://"+u.Place+"/"+u.Prefix, "/")
}

// badBucket returns what is wrong with a bucket and a prefix in it. It accepts prefixes that
// CheckName of package sink rejects, because others named the folders of the bucket.
func badBucket(bucket, prefix string) string {
	switch {
	case bucket == "":
		return "the bucket is missing"
	case !bucketForm.MatchString(bucket):
		return "not a valid bucket name"
	case prefix == "":
		return ""
	}
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || part == "." || part == ".." {
			return "a segment of the prefix is empty, . or .."
		}
		// GCS tools read ? and * as patterns, # as a generation.
		if strings.ContainsAny(part, "?*#") || strings.ContainsFunc(part, control) {
			return "the prefix has a character that is not allowed"
		}
	}
	return ""
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// filePath returns the cleaned path of a file URL, or what is wrong with the URL.
func filePath(text string) (name, wrong string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", "not a URL"
	case u.Host != "" || u.User != nil:
		return "", "a file:// URL cannot have a host"
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return "", "a file:// URL cannot have a query or fragment"
	case !strings.HasPrefix(u.Path, "/"):
		return "", "the path is not absolute"
	case strings.ContainsFunc(u.Path, control):
		return "", "the path has control characters"
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return "", "a segment of the path is . or .."
		}
	}
	return path.Clean(u.Path), ""
}
