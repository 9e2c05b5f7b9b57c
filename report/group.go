package report

import (
	"fmt"
	"regexp"
	"strings"
)

// Group is what some users and service tokens may do with some reports.
type Group struct {
	Name string `key:"group"`
	// Names of `users`, or those that the trusted header has; `"*"`: everyone who logs in
	Users []string `yaml:"users"`
	// Names of `tokens`
	Tokens []string `yaml:"tokens" open:""`
	// Reports that the group is about
	Reports []string `yaml:"reports" min:"1" unset:"all"`
	// Rights: `see` (states and parameters of jobs), `download` (files, and what `see` allows), `order` (new jobs),
	// `operate` (cancel, retry, and what `see` allows; on all reports: every change, and who made it)
	May []string `yaml:"may" min:"1" need:"Write some of see, download, order, operate"`
	// `true`: only records whose [owner](#records) is the user or the token. Those that they order get this owner
	Own bool `yaml:"own" default:"false"`
	// Only records of this [tenant](#records). Those that are ordered get it
	Tenant string `yaml:"tenant" unset:"any"`
}

// Rights of a Group.
const (
	See      = "see"
	Download = "download"
	Order    = "order"
	Operate  = "operate"
)

// Rights has all rights.
var Rights = []string{See, Download, Order, Operate}

// Scope is a set of records: those of some reports, of an owner and of a tenant.
type Scope struct {
	Reports       []string // nil: all
	Owner, Tenant string   // empty: any
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ParseTokens reads lines NAME:DIGEST, as fanfold user token prints them, and returns the SHA-256 digests of tokens by
// name. Like ParseUsers, it skips empty lines and those that begin with #, and its error has no part of the text.
func ParseTokens(text string) (map[string]string, error) {
	return parseLines(text, digestForm, "SHA-256 digest of 64 digits 0-9, a-f")
}

// parseLines reads lines NAME:VALUE.
func parseLines(text string, form *regexp.Regexp, what string) (map[string]string, error) {
	all := map[string]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		switch {
		case !ValidUser(name):
			return nil, fmt.Errorf("line %d does not begin with a name and a colon", n)
		case !form.MatchString(value):
			return nil, fmt.Errorf("line %d has no %s", n, what)
		case all[name] != "":
			return nil, fmt.Errorf("line %d repeats a name of another line", n)
		}
		all[name] = value
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no line has a name")
	}
	return all, nil
}
