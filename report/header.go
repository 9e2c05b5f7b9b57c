package report

import (
	"regexp"
	"slices"
	"strings"
)

var headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")

// ValidHeader reports whether a text can be the name of a header.
func ValidHeader(name string) bool { return headerForm.MatchString(name) }

// CheckHeader rejects a header that would not be sent as written, such as one of own, which Fanfold sets
// itself.
func CheckHeader(name, value string, own []string) *Mistake {
	control := strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
	switch lower := strings.ToLower(name); {
	case slices.Contains(own, lower):
		return &Mistake{Message: "Fanfold sets " + name + " itself", Remedy: "Remove it"}
	case lower == "host" || lower == "trailer":
		return &Mistake{Message: name + " cannot be set here", Remedy: "Remove it; the host comes from the url"}
	case control:
		return &Mistake{Message: "the value of " + name + " contains a control character", Remedy: "Remove it; a line break at the end of a variable is one, too"}
	}
	return nil
}
