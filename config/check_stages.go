package config

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// staging derives the stages of a report: a listener is in the first stage after those that it needs.
type staging struct {
	*draft
	stages map[string]int // of the listeners that were placed, from 1
}

// need is a listener that another one needs, and where the file says so.
type need struct {
	l  *draftListener
	at decode.Setting
}

// place adds all listeners to their stages.
func (s staging) place() {
	for _, l := range s.listeners {
		stage := s.stage(l, nil)
		for len(s.Stages) < stage {
			s.Stages = append(s.Stages, report.Stage{})
		}
		l.Listener.Listener.After = l.f.After
		s.Stages[stage-1].Listeners = append(s.Stages[stage-1].Listeners, *l.Listener.Listener)
	}
}

// stage returns the number of a listener's stage. path has the listeners that need it, each the next one.
func (s staging) stage(l *draftListener, path []string) int {
	if stage, ok := s.stages[l.Name]; ok {
		return stage
	}
	path = append(path, l.Name)
	stage := 1
	for _, other := range s.needs(l) {
		if i := slices.Index(path, other.l.Name); i >= 0 {
			other.at.Problem("it cannot start before it is done: "+
				strings.Join(append(slices.Clone(path[i:]), other.l.Name), " needs "), "Remove one of these references")
			continue
		}
		stage = max(stage, s.stage(other.l, path)+1)
	}
	s.stages[l.Name] = stage
	return stage
}

// needs returns the listeners that must be done before a listener starts.
func (s staging) needs(l *draftListener) []need {
	var all []need
	for _, u := range l.Uses {
		if _, source := s.listeners.split(u.Name); source != nil && strings.Contains(u.Name, ".") {
			all = append(all, need{source, u.At})
		}
	}
	for i, name := range l.f.After {
		at, other := l.Get("after").Item(i), s.listeners.find(name)
		switch {
		case other != nil:
			all = append(all, need{other, at})
		case !s.nameless:
			at.Problem("the report has no such listener", report.DidYouMean(name, s.listeners.names()))
		}
	}
	return all
}
