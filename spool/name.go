package spool

import (
	"regexp"
	"strconv"

	"github.com/fanfold/fanfold/report"
)

// Name is the name of a segment: <report>/<id>-<attempt>-<tag>=<listener>=<generation>-<writer>=<number>.zst. No two
// writers share a name, and the name alone says whose segment it is.
type Name struct {
	Report     string
	ID         string
	Attempt    int64
	Tag        string // of the installation; empty: none
	Listener   string // its first 60 characters, for people
	Generation int64
	Writer     string // letters and digits, new for every try
	Number     int    // from 0
}

const (
	ending      = ".zst"
	maxListener = 60 // so that no name is too long for a sink
)

var form = regexp.MustCompile(`^(.+)/(` + report.IDForm + `)-([1-9][0-9]{0,18})(?:-([a-z][a-z0-9]*))?` +
	`=([^=/]+)=([0-9]+)-([0-9A-Za-z]+)=([0-9]{1,9})\.zst$`)

// prefix returns the name up to the number.
func (n Name) prefix() string {
	name := n.Report + "/" + n.ID + "-" + strconv.FormatInt(n.Attempt, 10)
	if n.Tag != "" {
		name += "-" + n.Tag
	}
	name += "=" + n.Listener[:min(len(n.Listener), maxListener)]
	return name + "=" + strconv.FormatInt(n.Generation, 10) + "-" + n.Writer + "="
}

// String returns the name in the form that Parse reads.
func (n Name) String() string { return numbered(n.prefix(), n.Number) }

func numbered(prefix string, number int) string { return prefix + strconv.Itoa(number) + ending }

// Parse parses a name; false if String cannot have returned it.
func Parse(name string) (Name, bool) {
	parts := form.FindStringSubmatch(name)
	if parts == nil {
		return Name{}, false
	}
	attempt, err := strconv.ParseInt(parts[3], 10, 64)
	number, _ := strconv.Atoi(parts[8]) // 9 digits
	generation, wrong := strconv.ParseInt(parts[6], 10, 64)
	n := Name{Report: parts[1], ID: parts[2], Attempt: attempt, Tag: parts[4], Listener: parts[5],
		Generation: generation, Writer: parts[7], Number: number}
	return n, err == nil && wrong == nil && n.String() == name
}
