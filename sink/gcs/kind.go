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

func parse(text string) (bucket, prefix, wrong string) {
	return sink.ParseBucket(text, "gs", bucketForm)
}
