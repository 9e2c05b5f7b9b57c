package main

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/inspect"
)

// pauses are what each job was said to wait for that is paused.
type pauses map[string][]string

// pauseChange is a pause that a job waits for, or does no longer.
type pauseChange struct {
	what   string // report/<name> or listener/<name>
	paused bool
}

// changes are those since the last poll of a job. A job that has ended without a file did not
// go on.
func (p pauses) changes(v inspect.Job) (list []pauseChange) {
	before := p[v.ID]
	for _, what := range before {
		if (!v.Status.Final() || v.Status.HasFile()) && !slices.Contains(v.Paused, what) {
			list = append(list, pauseChange{what: what})
		}
	}
	for _, what := range v.Paused {
		if !slices.Contains(before, what) {
			list = append(list, pauseChange{what: what, paused: true})
		}
	}
	p[v.ID] = v.Paused
	return list
}

func (p pauseChange) says() string {
	if p.paused {
		return "waits: " + p.what + " is paused, until fanfold resume " + strings.Replace(p.what, "/", " ", 1)
	}
	return "goes on: " + p.what + " is resumed"
}
