package files

import (
	"crypto/rand"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Name is the name of a job's file: <report>/<id>-<attempt>-<tag><ending>. No two jobs and no two
// installations share a name, and the name alone says which job made the file, because a directory
// stores no metadata.
type Name struct {
	Report  string
	ID      string
	Attempt int64
	Tag     string // of the installation; empty: none
	Ending  string // of its format, such as .csv.gz
}

// A tag begins with a letter, so it is never mistaken for an attempt.
const (
	tagLetters = "abcdefghjkmnpqrstuvwxyz"
	tagDigits  = "23456789"
	tagLength  = 6
)

var (
	form = regexp.MustCompile(`^(.+)/(` + report.IDForm + `)-([1-9][0-9]{0,18})(?:-(` + tagForm +
		`))?(\.[a-z0-9.]+)$`)
	tagWhole = regexp.MustCompile(`^` + tagForm + `$`)
)

const tagForm = `[a-hjkmnp-z][a-hjkmnp-z2-9]{5}`

// NewTag returns a random tag: 6 letters and digits that cannot be confused with each other.
func NewTag() string {
	var b [tagLength]byte
	_, _ = rand.Read(b[:]) // never fails
	for i, n := range b {
		from := tagLetters
		if i > 0 {
			from += tagDigits
		}
		b[i] = from[int(n)%len(from)]
	}
	return string(b[:])
}

// ValidTag tells whether a text has the form of a tag.
func ValidTag(text string) bool { return tagWhole.MatchString(text) }

// String returns the name in the form that Parse reads.
func (n Name) String() string {
	name := n.Report + "/" + n.ID + "-" + strconv.FormatInt(n.Attempt, 10)
	if n.Tag != "" {
		name += "-" + n.Tag
	}
	return name + n.Ending
}

// Parse parses a name; false if String cannot have returned it for one of these endings.
func Parse(name string, endings []string) (Name, bool) {
	parts := form.FindStringSubmatch(name)
	if parts == nil || !slices.Contains(endings, parts[5]) {
		return Name{}, false
	}
	attempt, err := strconv.ParseInt(parts[3], 10, 64)
	return Name{Report: parts[1], ID: parts[2], Attempt: attempt, Tag: parts[4], Ending: parts[5]}, err == nil
}

// Longest returns a name as long as any of a report's files with this ending can have, for ids of a
// length.
func Longest(report string, id int, ending string) string {
	const attempt = 4294967295 // of an INT UNSIGNED
	return Name{
		Report: report, ID: strings.Repeat("0", id), Attempt: attempt, Tag: strings.Repeat("a", tagLength),
		Ending: ending,
	}.String()
}
