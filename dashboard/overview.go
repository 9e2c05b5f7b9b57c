package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
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
	Text  string // the limit, by whom and until when
}

func (l listPages) overview(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	drawn := charts(l.sampler.points(), s.Minutes, time.Now())
	v := overview{NoWorkers: l.noWorkers(s), Charts: drawn}
	now := time.Now()
	for _, one := range s.Pauses {
		v.Paused = append(v.Paused, l.held(one.What, "", one.Who, one.Until, now))
	}
	for _, one := range s.Limits {
		v.Limited = append(v.Limited, l.held(one.What, "to "+count(one.Limit), one.Who, one.Until, now))
	}
	return "Overview", v, nil
}

// held returns a hold of what scripts.PausedSource, PausedListener or PausedReport names.
func (l listPages) held(what, text, who string, until *time.Time, now time.Time) held {
	kind, name, _ := strings.Cut(what, "/")
	one := held{
		Title: inspect.HoldTitle(l.o.Inspect.Config.Sources, what),
		To:    pagesOf[kind] + "?only=" + url.QueryEscape(name),
	}
	if kind == "source" {
		one.To = pagesOf[kind] + "#source-" + url.QueryEscape(name)
	}
	if who != "" {
		text += " by " + who
	}
	switch {
	case until == nil:
		text += ", without an end"
	case until.Sub(now) < day:
		text += " until " + until.Local().Format("15:04")
	default:
		text += " until " + until.Local().Format("2006-01-02 15:04")
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
