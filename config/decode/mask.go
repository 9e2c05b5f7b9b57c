package decode

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// variables are those that a file uses, by name.
type variables map[string]*usage

// usage says where a variable is used.
type usage struct {
	value  string
	secret bool // in a value that is never shown
	open   bool // in any other value, whose parts messages repeat
}

func (v variables) note(name, value string, secret bool) {
	u, ok := v[name]
	if !ok {
		u = &usage{value: value}
		v[name] = u
	}
	u.secret = u.secret || secret
	u.open = u.open || !secret
}

// mask puts ${NAME} in the place of a variable's value in messages, if a secret
// uses the variable and something that is no secret does too. Only such a value
// can have come into a message from a secret; to mask all of them would make
// messages unreadable wherever a variable holds a common word.
func (v variables) mask(problems Problems) Problems {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if u := v[name]; u.secret && u.open && u.value != "" {
			names = append(names, name)
		}
	}
	// The longest goes first: another value may be a part of it.
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(v[b].value), len(v[a].value)) })
	var pairs []string
	for _, name := range names {
		quoted := strconv.Quote(v[name].value)
		pairs = append(pairs, v[name].value, "${"+name+"}", quoted[1:len(quoted)-1], "${"+name+"}")
	}
	replacer := strings.NewReplacer(pairs...)
	for i := range problems {
		problems[i].Message = replacer.Replace(problems[i].Message)
		problems[i].Remedy = replacer.Replace(problems[i].Remedy)
	}
	return problems
}
