package report

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Once lets equal jobs of a report share one run and its file.
type Once struct {
	// How long a finished file is shared with later jobs. Jobs that wait while it is made get it in any case. A file
	// of a PARTIAL job is not shared with later jobs
	Window time.Duration `yaml:"window" default:"5m" min:"0s" max:"168h"`
	// What must be equal. Without `owner`, people share files with each other. `owner` is a
	// column of the [records](#records); a record without an owner shares with none
	Per []string `yaml:"per" min:"1" unset:"[report, parameters, owner]"`
}

// PerOwner is the value of Per that keeps the files of different people apart.
const PerOwner = "owner"

// ByOwner reports whether only jobs of one owner share.
func (o *Once) ByOwner() bool { return slices.Contains(o.Per, PerOwner) }

// Digest returns a text that is the same for all jobs of a report that share one run: the Content of their file, and,
// if only jobs of one owner share, a hyphen and 32 hexadecimal digits for the owner. It is empty if the job shares with
// none.
func (o *Once) Digest(report, definition string, parameters []byte, owner string) string {
	switch {
	case o == nil, o.ByOwner() && owner == "":
		return ""
	case o.ByOwner():
		return Content(report, definition, parameters) + "-" + sum([]byte(owner))
	}
	return Content(report, definition, parameters)
}

// Content returns 32 hexadecimal digits that are the same for files of the same report, definition and parameters, as
// Canonical returns them.
func Content(report, definition string, parameters []byte) string {
	return sum(slices.Concat([]byte(report+"\x00"+definition+"\x00"), parameters))
}

// sum returns 32 hexadecimal digits of a text.
func sum(text []byte) string {
	all := sha256.Sum256(text)
	return hex.EncodeToString(all[:16])
}
