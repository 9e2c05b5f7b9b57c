package report

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean is the remedy for an unknown name: the Nearest known name, if there
// is one, and the known names.
func DidYouMean(name string, known []string) string {
	there := "None are defined"
	if len(known) > 0 {
		there = "Available: " + Listing(known)
	}
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("Did you mean %q? %s", near, there)
	}
	return there
}

// Nearest returns the known name that was probably misspelt, or an empty text.
func Nearest(name string, known []string) string {
	best, least := "", min(len(name), 1+max(1, min(3, len(name)/3)))
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k), least); d < least {
			best, least = k, d
		}
	}
	if best != "" || len(name) < 3 {
		return best
	}
	// An abbreviation of exactly one name, such as int for integer.
	begun := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !strings.HasPrefix(k, name) })
	if len(begun) == 1 {
		return begun[0]
	}
	return ""
}

// distance returns the number of letters to insert, remove or change and of neighbours to
// swap (optimal string alignment). It stops above limit, so that a long wrong name
// costs little.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
