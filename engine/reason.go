package engine

import (
	"regexp"
	"strings"
)

// packageNames are what errors of this module begin with, for those who read code.
var packageNames = regexp.MustCompile(`(?m)(^|: )(?:(?:dataset|engine|fold|format|listeners|record|report|scheduler|scripts): )+`)

// sinks are the places in which an error says that it is the sink's.
var sinks = regexp.MustCompile(`(?m)(^|: )(?:sink: )+`)

// Reason is an error as a text for people: without the names of packages, and with the
// sink named once.
func Reason(err error) string {
	said := false
	return sinks.ReplaceAllStringFunc(packageNames.ReplaceAllString(err.Error(), "$1"), func(match string) string {
		before := ""
		if strings.HasPrefix(match, ": ") {
			before = ": "
		}
		if said {
			return before
		}
		said = true
		return before + "sink: "
	})
}
