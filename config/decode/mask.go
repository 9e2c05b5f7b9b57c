package decode

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// variables are the variables that a file uses, by name.
type variables map[string]*usage

// usage says where a variable is used.
type usage struct {
	value  string
	secret bool // a secret uses it
	open   bool // another value uses it, parts of which appear in messages
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

// mask replaces the value of a variable in messages by ${NAME}, if both a secret
// and another value use the variable: only then can a message contain the value of a
// secret. Masking all variables would make messages unreadable if a value is a
// common word.
func (v variables) mask(problems Problems) Problems {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if u := v[name]; u.secret && u.open && u.value != "" {
			names = append(names, name)
		}
	}
	// The longest value goes first, because it may contain another one.
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
