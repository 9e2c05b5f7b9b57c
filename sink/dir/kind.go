package dir

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// Kind is a directory: file:///var/reports.
var Kind = sink.Kind{
	SinkKind: report.SinkKind{
		Scheme: "file", Form: "file:///directory",
		Parse: func(text string) (report.SinkURL, string) {
			root, wrong := parse(text)
			return urlOf(root), wrong
		},
		Check: check,
	},
	Open: func(_ context.Context, s report.Sink) (sink.Sink, error) {
		root, wrong := parse(string(s.URL))
		if wrong != "" {
			return nil, sink.Failure(wrong)
		}
		return New(root)
	},
	Local: true, Folder: urlOf,
}

// check warns of the root directory.
func check(s *report.Sink) *report.Mistake {
	if s.URL != urlOf("/") {
		return nil
	}
	return &report.Mistake{
		Message: "the sink is the root directory: every report would be a folder of the system's",
		Remedy:  "Write a directory of its own, such as file:///var/lib/fanfold",
	}
}

// parse returns the cleaned path of a URL, or what is wrong with the URL.
func parse(text string) (name, wrong string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", "not a URL"
	case u.Scheme != "file" || !strings.HasPrefix(text, "file://"):
		return "", "not a file:// URL"
	case u.Host != "" || u.User != nil:
		return "", "a file:// URL cannot have a host"
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return "", "a file:// URL cannot have a query or fragment"
	case !strings.HasPrefix(u.Path, "/"):
		return "", "the path is not absolute"
	case strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", "the path has control characters"
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return "", "a segment of the path is . or .."
		}
	}
	return path.Clean(u.Path), ""
}
