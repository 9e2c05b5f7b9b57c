package engine

import "regexp"

// packageNames are what errors of this module begin with, for those who read code.
var packageNames = regexp.MustCompile(`(?m)(^|: )(?:(?:engine|listeners|record|report|scheduler|scripts): )+`)

// Reason is an error as a text for people: without the names of packages.
func Reason(err error) string { return packageNames.ReplaceAllString(err.Error(), "$1") }
