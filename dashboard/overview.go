package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

// listPages makes the pages that show what the samples contain.
type listPages struct {
	o       Options
	sampler *sampler
	plans   map[string]*picture // by report
}

// overview is the content of the start page.
type overview struct {
	NoWorkers       []string
	Charts          []chart
	Paused, Limited []held
}

// held is a pause or a limit.
type held struct {
	Title string // what is held
	To    string // path of the row that can end it
	Text  string // the limit, by whom, until when and why
}

func (l listPages) overview(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	drawn := charts(l.sampler.points(), s.Minutes, time.Now())
	v := overview{NoWorkers: l.noWorkers(s), Charts: drawn}
	now := time.Now()
	for _, one := range s.Pauses {
		v.Paused = append(v.Paused, l.held(one.What, "", one.Stored, now))
	}
	for _, one := range s.Limits {
		v.Limited = append(v.Limited, l.held(one.What, "to "+count(one.Limit), one.Stored, now))
	}
	return "Overview", v, nil
}

// held returns a hold of what scripts.PausedSource, PausedListener or PausedReport names.
func (l listPages) held(what, text string, of scripts.Hold, now time.Time) held {
	kind, name, _ := strings.Cut(what, "/")
	one := held{
		Title: inspect.HoldTitle(l.o.Inspect.Config.Sources, what),
		To:    pagesOf[kind] + "?only=" + url.QueryEscape(name),
	}
	if kind == "source" {
		one.To = pagesOf[kind] + "#source-" + url.QueryEscape(name)
	}
	if of.Who != "" {
		text += " by " + of.Who
	}
	switch {
	case of.Until.IsZero():
		text += ", without an end"
	case of.Until.Sub(now) < day:
		text += " until " + of.Until.Local().Format("15:04")
	default:
		text += " until " + of.Until.Local().Format("2006-01-02 15:04")
	}
	if of.Reason != "" {
		text += ": " + of.Reason
	}
	one.Text = strings.TrimLeft(text, " ,")
	return one
}

// noWorkers returns the listeners without a worker.
func (l listPages) noWorkers(s *sample) []string {
	var names []string
	for _, name := range l.o.Listeners {
		if s.Figures.Known("tasks_workers", name) && s.Figures.Of("tasks_workers", name) == 0 {
			names = append(names, name)
		}
	}
	return names
}
