package report

import (
	"strconv"
	"time"
)

// Traces has the settings of tracing.
type Traces struct {
	// Address of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318`. Spans are sent to `/v1/traces` below it
	URL string `yaml:"url" form:"url" secret:"" need:"Write http[s]://host[:port][/path], without user, query and #"`
	// Share of the jobs that are traced, from 0 to 1. The flag in a pushed `traceparent` takes precedence
	Sample Share `yaml:"sample" default:"1"`
	// Maximum time of a request to the collector, with its retries
	Timeout time.Duration `yaml:"timeout" default:"5s" min:"100ms" max:"1m"`
	// Maximum number of spans that wait to be sent. Further spans are dropped
	Queue int `yaml:"queue" default:"2048" min:"1" max:"1000000"`
	// Headers are sent with every request.
	Headers map[string]Secret
}

// Share is a number from 0 to 1.
type Share float64

// ParseShare reads a share such as 0.1.
func ParseShare(text string) (Share, *Mistake) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return 0, &Mistake{Message: "not a share", Remedy: "Write a number from 0 to 1, such as 0.1"}
	}
	return Share(n), nil
}
