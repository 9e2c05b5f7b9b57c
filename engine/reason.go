package engine

import (
	"regexp"
	"strings"
)

// packageNames matches the package prefixes of this module's errors, which are for developers.
var packageNames = regexp.MustCompile(`(?m)(^|: )(?:(?:dataset|engine|fold|format|listeners|record|report|scheduler|scripts): )+`)

// sinks matches the prefix of the sink's errors.
var sinks = regexp.MustCompile(`(?m)(^|: )(?:sink: )+`)

// Reason returns an error as a text for people: without package names, and with the prefix of the
// sink once.
func Reason(err error) string {
	seen := false
	return sinks.ReplaceAllStringFunc(packageNames.ReplaceAllString(err.Error(), "$1"), func(match string) string {
		before := ""
		if strings.HasPrefix(match, ": ") {
			before = ": "
		}
		if seen {
			return before
		}
		seen = true
		return before + "sink: "
	})
}
