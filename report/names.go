package report

import (
	"regexp"
	"strings"
	"time"
)

// Keys says what the names of everything in Redis begin with. Both prefixes are part of
// the public contract (docs/reference/keys.md). Installations that share a Redis keep apart by them.
type Keys struct {
	// Prefix of shared keys, such as the stream of ids
	Prefix string `yaml:"prefix" form:"prefix"`
	// Prefix of the hash of a job, before the id
	Hash string `yaml:"hash" form:"prefix"`
}

// SetDefaults makes them the DefaultKeys.
func (k *Keys) SetDefaults() { *k = DefaultKeys }

// DefaultKeys are the prefixes without configuration.
var DefaultKeys = Keys{Prefix: "fanfold:", Hash: "FileDownloadRecordEntity-"}

// IDForm is the regular expression of an id.
const IDForm = `[0-9A-Za-z_-]{1,64}`

// ValidID tells whether an id has the form that keys and file names can hold.
func ValidID(id string) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// listenerForm is the form of a listener's name, such as schema.table.
var listenerForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// MaxListener is the maximum length of a listener's name.
const MaxListener = 100

// ValidListener tells whether a listener can have this name.
func ValidListener(name string) bool {
	return len(name) <= MaxListener && listenerForm.MatchString(name)
}

// maxTimerName bounds the name of a timer, in bytes.
const maxTimerName = 200

// ValidTimer tells whether a text can be the name of a timer: 1 to 200 printable
// ASCII characters without space.
func ValidTimer(name string) bool {
	if len(name) == 0 || len(name) > maxTimerName {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// RecordPolls are the delays before a record that a pushed id names is read again: its
// row may not be committed yet, or a configuration with its report may be on its way.
// After the last one the id is quarantined.
var RecordPolls = []time.Duration{time.Second, 5 * time.Second, 25 * time.Second}

// Process names a process of a version of the program.
func Process(name, version string) string { return name + "@" + version }

// VersionOf is the version of a process that Process has named; empty: it is not known.
func VersionOf(process string) string {
	_, version, _ := strings.Cut(process, "@")
	return version
}
