package sink

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// ParseBucket returns the bucket and the prefix of a URL scheme://bucket/prefix, or what is wrong with the
// URL. form is that of names of buckets. It unescapes nothing, like the stores' own tools, and accepts
// prefixes that CheckName rejects, because others named the folders of the bucket.
func ParseBucket(text, scheme string, form *regexp.Regexp) (bucket, prefix, wrong string) {
	rest, ok := strings.CutPrefix(text, scheme+"://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.TrimRight(prefix, "/")
	switch {
	case !ok:
		return "", "", "not a " + scheme + ":// URL"
	case bucket == "":
		return "", "", "the bucket is missing"
	case !form.MatchString(bucket):
		return "", "", "not a valid bucket name"
	case prefix == "":
		return bucket, "", ""
	}
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || part == "." || part == ".." {
			return "", "", "a segment of the prefix is empty, . or .."
		}
		// Tools of stores read ? and * as patterns, # as a generation.
		if strings.ContainsAny(part, "?*#") ||
			strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", "", "the prefix has a character that is not allowed"
		}
	}
	return bucket, prefix, ""
}

// Owner says whose an object with these metadata is.
func Owner(metadata map[string]string) string {
	if metadata["fanfold-record"] == "" {
		return "Fanfold has not made it"
	}
	return fmt.Sprintf("record %s, attempt %s, installation %s", metadata["fanfold-record"],
		metadata["fanfold-attempt"], cmp.Or(metadata["fanfold-installation"], "unknown"))
}
