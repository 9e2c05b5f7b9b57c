package sink

import (
	"crypto/rand"
	"regexp"
	"strings"
)

// ProbePrefix and ProbeFolder begin the names of objects that a check writes, reads and deletes, in the root of a sink
// or in a folder. A process that dies meanwhile leaves its object; the daily sweep deletes it.
const (
	ProbePrefix = "fanfold-check-"
	ProbeFolder = "fanfold-check/"
)

// A report may have the name of the folder. The names of its objects have a dash.
var probe = regexp.MustCompile("^fanfold-check[-/][a-z2-7]{26,}$")

// NewProbe returns a new name for the object of a check, with one of the prefixes.
func NewProbe(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// IsProbe tells whether an object is that of a check.
func IsProbe(object string) bool { return probe.MatchString(object) }
