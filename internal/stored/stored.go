// Package stored answers one question: may this release use what is stored?
//
// What is stored outlives the process that wrote it, so it has a version, a number that grows when
// its meaning changes. A release writes one version and reads all versions up to another. A change
// takes two releases: the first one reads the new version (it increases Reads), the next one writes
// it (it increases Writes). So a release and the next can run side by side, and one can go back by
// one release.
//
// A process that finds a newer version than it reads does not start, or stops if it runs already.
package stored

import (
	"errors"
	"fmt"
)

// Version is the version of something stored.
type Version struct {
	Writes int // the version that this release writes
	Reads  int // the newest version that it reads
}

var (
	// State is the version of the keys in Redis; every partition stores it.
	State = Version{Writes: 1, Reads: 1}
	// Snapshot is the version of what the tables beside the record table contain, above all of the
	// snapshot; fanfold_meta stores it. The layout of the tables has its own version: the steps of
	// fanfold migrate.
	Snapshot = Version{Writes: 1, Reads: 1}
)

// Newer is the error of a version that this release does not know. Match it with IsNewer.
type Newer struct {
	Part  string // what is stored, such as "the state in Redis"
	Where string // such as "key fanfold:version"
	Found int
	Known int
}

// Error names the part and both versions. The command adds its own version and the remedy.
func (n *Newer) Error() string {
	return fmt.Sprintf("%s has version %d (%s), and this release knows versions up to %d", n.Part, n.Found,
		n.Where, n.Known)
}

// Remedy is what to do about an error that matches IsNewer.
const Remedy = "a newer release of fanfold wrote it: start that release, or see docs/guides/upgrade.md for the way back"

// IsNewer reports whether an error says that something was stored by a newer release.
func IsNewer(err error) bool {
	_, ok := errors.AsType[*Newer](err)
	return ok
}

// Check refuses a version that this release does not read.
func (v Version) Check(part, where string, found int) error {
	if found > v.Reads {
		return &Newer{Part: part, Where: where, Found: found, Known: v.Reads}
	}
	return nil
}
