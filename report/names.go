package report

import (
	"regexp"
	"strings"
	"time"
)

// Keys are the prefixes of all names in Redis. They are part of the public contract
// (docs/reference/keys.md). Installations that share a Redis need different prefixes.
type Keys struct {
	// Prefix of shared keys, such as the stream of ids
	Prefix string `yaml:"prefix" form:"prefix"`
	// Prefix of the hash of a job, before the id
	Hash string `yaml:"hash" form:"prefix"`
	// Prefix of the streams that a push may name in `reply_to`. Fanfold writes to no other stream of a service
	Replies string `yaml:"replies" form:"prefix"`
}

// SetDefaults sets them to DefaultKeys.
func (k *Keys) SetDefaults() { *k = DefaultKeys }

// DefaultKeys are the default prefixes.
var DefaultKeys = Keys{Prefix: "fanfold:", Hash: "FileDownloadRecordEntity-", Replies: "replies:"}

// IDForm is the regular expression of an id.
const IDForm = `[0-9A-Za-z_-]{1,64}`

// ValidID reports whether an id can be part of keys and file names.
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

// ValidListener reports whether a listener can have this name.
func ValidListener(name string) bool {
	return len(name) <= MaxListener && listenerForm.MatchString(name)
}

// maxTimerName is the maximum length of a timer's name, in bytes.
const maxTimerName = 200

// ValidTimer reports whether a text can be the name of a timer: 1 to 200 printable
// ASCII characters without spaces.
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

// RecordPolls are the delays before the record of a pushed id is read again, because its
// row may not be committed yet, or the configuration with its report not deployed yet.
// After the last one the id is quarantined.
var RecordPolls = []time.Duration{time.Second, 5 * time.Second, 25 * time.Second}

// Process returns the name of a process with the version of its program.
func Process(name, version string) string { return name + "@" + version }

// VersionOf returns the version in a name that Process returned; empty if unknown.
func VersionOf(process string) string {
	_, version, _ := strings.Cut(process, "@")
	return version
}
