package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
)

// longestKey is the longest that the beginning of a key may be, in characters.
const longestKey = 64

func (p setting) keys() report.Keys {
	f := p.fields("prefix", "hash")
	prefix, okPrefix := f.get("prefix").keyName(report.DefaultKeys.Prefix)
	hash, okHash := f.get("hash").keyName(report.DefaultKeys.Hash)
	// Otherwise a job's hash and a key that all jobs share could be of one name.
	if okPrefix && okHash && (strings.HasPrefix(prefix, hash) || strings.HasPrefix(hash, prefix)) {
		at := f.get("hash")
		if !at.given() {
			at = f.get("prefix")
		}
		at.problem("one of prefix and hash begins with the other", "Choose two that part ways; the defaults are fanfold: and FileDownloadRecordEntity-")
	}
	return report.Keys{Prefix: prefix, Hash: hash}
}

// keyName decodes what names of keys begin with. In a gap it is the default.
func (p setting) keyName(otherwise string) (string, bool) {
	if !p.given() {
		return otherwise, true
	}
	text, ok := p.text()
	switch {
	case !ok:
		return otherwise, false
	case text == "":
		p.problem("empty", "Leave it out for "+otherwise)
	case utf8.RuneCountInString(text) > longestKey:
		p.problem(fmt.Sprintf("more than %d characters", longestKey), "Shorten it")
	case strings.ContainsFunc(text, notInKey):
		p.problem("a character that is not allowed in the names of keys", `Use no spaces, no control characters and none of { } * ? [ \`)
	default:
		return text, true
	}
	return otherwise, false
}

// notInKey tells whether a character has a meaning in Redis, braces for the
// cluster slot and the others for patterns, or cannot be seen.
func notInKey(r rune) bool {
	return r == ' ' || !unicode.IsPrint(r) || strings.ContainsRune(`{}*?[\`, r)
}
