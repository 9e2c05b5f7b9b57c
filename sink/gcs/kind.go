package gcs

import (
	"context"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// Kind is a bucket of Google Cloud Storage: gs://bucket/prefix.
var Kind = sink.Kind{
	SinkKind: report.SinkKind{
		Scheme: "gs", Form: "gs://bucket/prefix",
		Parse: func(text string) (report.SinkURL, string) {
			bucket, prefix, wrong := parse(text)
			return report.SinkURL(strings.TrimRight("gs://"+bucket+"/"+prefix, "/")), wrong
		},
	},
	Open: func(ctx context.Context, s report.Sink) (sink.Sink, error) { return New(ctx, s.URL) },
}

var bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)

// parse returns the bucket and the prefix of a URL, or what is wrong with the URL. It unescapes
// nothing, like Google's tools, and accepts prefixes that sink.CheckName rejects, because others
// named the folders of the bucket.
func parse(text string) (bucket, prefix, wrong string) {
	rest, ok := strings.CutPrefix(text, "gs://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.TrimRight(prefix, "/")
	switch {
	case !ok:
		return "", "", "not a gs:// URL"
	case bucket == "":
		return "", "", "the bucket is missing"
	case !bucketForm.MatchString(bucket):
		return "", "", "not a valid bucket name"
	case prefix == "":
		return bucket, "", ""
	}
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || part == "." || part == ".." {
			return "", "", "a segment of the prefix is empty, . or .."
		}
		// GCS tools read ? and * as patterns, # as a generation.
		if strings.ContainsAny(part, "?*#") ||
			strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", "", "the prefix has a character that is not allowed"
		}
	}
	return bucket, prefix, ""
}
