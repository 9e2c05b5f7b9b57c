package inspect

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Pauses are those of sources, listeners and reports.
type Pauses struct{ o *Options }

// Pause is a pause of a source, a listener or a report.
type Pause struct {
	What     string     `json:"what"` // source/<name>, listener/<name> or report/<name>
	Since    time.Time  `json:"since"`
	Until    *time.Time `json:"until,omitempty"` // nil: until it is resumed
	Who      string     `json:"who"`
	Reason   string     `json:"reason"`
	Waiting  int64      `json:"waiting"`            // ids of a report
	Reports  []string   `json:"reports"`            // that the pause concerns
	External []string   `json:"external,omitempty"` // listeners of these reports that a pause of a source cannot stop

	Stored scripts.Hold `json:"-"`
}

// Stops returns pauses as workers see them.
func Stops(list []Pause) scripts.Holds {
	all := scripts.Holds{}
	for _, one := range list {
		all[one.What] = one.Stored
	}
	return all
}

// List lists what is paused, by name.
func (p Pauses) List(ctx context.Context) ([]Pause, error) {
	found, err := p.o.Scripts.Holds(ctx)
	if err != nil {
		return nil, err
	}
	found = found.Pauses()
	list := []Pause{}
	for _, member := range slices.Sorted(maps.Keys(found)) {
		one := p.Of(member, found[member])
		if name, ok := strings.CutPrefix(member, scripts.PausedReport("")); ok {
			for _, s := range p.o.Scripts {
				n, err := s.Sets.Len(ctx, s.Keys.Waiting(name))
				if err != nil {
					return nil, err
				}
				one.Waiting += n
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// Of returns a pause, with the reports that it concerns. The ids that wait are not counted.
func (p Pauses) Of(what string, of scripts.Hold) Pause {
	pause := Pause{What: what, Since: of.Since, Who: of.Who, Reason: of.Reason, Reports: []string{}, Stored: of}
	if !of.Until.IsZero() {
		pause.Until = &of.Until
	}
	for _, name := range slices.Sorted(maps.Keys(p.o.Config.Reports)) {
		has, external := what == scripts.PausedReport(name), []string{}
		source := false
		for _, l := range p.o.Config.Reports[name].Listeners() {
			has = has || what == scripts.PausedListener(l.Name)
			source = source || what == scripts.PausedSource(l.Source)
			if l.Kind == report.External && !slices.Contains(pause.External, l.Name) {
				external = append(external, l.Name)
			}
		}
		if has || source {
			pause.Reports = append(pause.Reports, name)
		}
		if source {
			pause.External = append(pause.External, external...)
		}
	}
	return pause
}

// Text says what is paused, since when, by whom, until when and why.
func (p Pauses) Text(one Pause) string {
	return HoldTitle(p.o.Config.Sources, one.What) + " has been paused since " + HoldText(one.Stored)
}

// HoldTitle names what is paused or limited: "database fund".
func HoldTitle(sources map[string]report.Source, what string) string {
	kind, name, _ := strings.Cut(what, "/")
	if of, ok := sources[name]; ok && what == scripts.PausedSource(name) {
		kind = of.Noun
	}
	return kind + " " + name
}

// HoldText says since when something is paused or limited, by whom, until when and why.
func HoldText(of scripts.Hold) string {
	text := words.Stamp(of.Since)
	if of.Who != "" {
		text += " by " + of.Who
	}
	if !of.Until.IsZero() {
		text += " until " + words.Stamp(of.Until)
	}
	if of.Reason != "" {
		text += ": " + of.Reason
	}
	return text
}
