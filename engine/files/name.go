package files

import (
	"crypto/rand"
	"regexp"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Name is the name of a job's file: <report>/<id>-<attempt>-<tag>.csv, or .csv.gz if the report
// compresses it. No two jobs and no two installations share a name, and the name alone says which
// job made the file, because a directory stores no metadata.
type Name struct {
	Report  string
	ID      string
	Attempt int64
	Tag     string // of the installation; empty: none
	Gzip    bool
}

// A tag begins with a letter, so it is never mistaken for an attempt.
const (
	tagLetters = "abcdefghjkmnpqrstuvwxyz"
	tagDigits  = "23456789"
	tagLength  = 6
)

var (
	form     = regexp.MustCompile(`^(.+)/(` + report.IDForm + `)-([1-9][0-9]{0,18})(?:-(` + tagForm + `))?\.csv(\.gz)?$`)
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
	if n.Gzip {
		return name + ".csv.gz"
	}
	return name + ".csv"
}

// Parse parses a name; false if String cannot have returned it.
func Parse(name string) (Name, bool) {
	parts := form.FindStringSubmatch(name)
	if parts == nil {
		return Name{}, false
	}
	attempt, err := strconv.ParseInt(parts[3], 10, 64)
	return Name{Report: parts[1], ID: parts[2], Attempt: attempt, Tag: parts[4], Gzip: parts[5] != ""}, err == nil
}

// Longest returns a name as long as any of a report's files can have, for ids of a length.
func Longest(r *report.Report, id int) string {
	const attempt = 4294967295 // of an INT UNSIGNED
	return Name{Report: r.Name, ID: strings.Repeat("0", id), Attempt: attempt, Tag: strings.Repeat("a", tagLength), Gzip: r.CSV.Gzip}.String()
}

// contentType returns the content type of a report's files. A compressed file has no content
// encoding, so that a download matches its name.
func contentType(r *report.Report) string {
	if r.CSV.Gzip {
		return "application/gzip"
	}
	return "text/csv; charset=utf-8"
}
