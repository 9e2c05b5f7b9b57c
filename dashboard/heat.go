package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/tally"
)

// heat is the content of the page of sources.
type heat struct {
	choices
	Values []link // what the cells show
	Levels []string
	Rows   []heatRow
	Ticks  []axisTick
	Table  table // instead of the map
}

// heatRow is a source of the heat map.
type heatRow struct {
	Name   string
	Slots  string
	State  []chip
	Pause  string // since when it is paused, by whom, until when and why; empty: it is not
	Reason string // of the pause
	Limit  string // as Pause, of the limit that people have set
	Pauses []act  // the buttons that pause or resume it
	Limits []act
	Text   string // of the whole time
	Cells  []area
	Bars   []curve // a path for every level
}

// heatWidth and heatHeight are those of the cells of a row.
const heatWidth, heatHeight = 720.0, 30.0

// measure is what the cells of the map show: of five levels the first whose limit it does not exceed.
type measure struct {
	name, title string
	limits      []float64
	levels      []string
	of          func(*tally.Tried) float64
}

var measures = []measure{
	{
		"p95", "95th percentile of the durations", []float64{0.1, 1, 10, 60},
		[]string{"up to 100ms", "up to 1s", "up to 10s", "up to 1m", "longer"},
		func(t *tally.Tried) float64 { return t.Took.Quantile(0.95).Seconds() },
	},
	{
		"failed", "failed tries", []float64{0, 0.01, 0.1, 0.5},
		[]string{"none", "up to 1 %", "up to 10 %", "up to 50 %", "more"},
		failedShare,
	},
}

// failedShare is the share of the tries that failed.
func failedShare(t *tally.Tried) float64 { return float64(t.Failed) / max(float64(t.OK+t.Failed), 1) }

// level returns the number of the level of a value.
func (m measure) level(v float64) int {
	i := slices.IndexFunc(m.limits, func(limit float64) bool { return v <= limit })
	if i < 0 {
		return len(m.limits)
	}
	return i
}

// sources is the page of the heat map of sources.
func (p talliedPages) sources(ctx context.Context, r *http.Request, s *sample) (string, any, error) {
	of := windowOf(r)
	all, err := p.tallies.Get(ctx, period{of.of, of.cell})
	if err != nil {
		return "", nil, err
	}
	shown := measures[0]
	for _, m := range measures {
		if m.name == r.FormValue("value") {
			shown = m
		}
	}
	v := heat{choices: choicesOf(r, "/sources", of)}
	for _, m := range measures {
		q := without(r.URL.Query(), "message", "page")
		q.Set("value", m.name)
		v.Values = append(v.Values, link{m.title, "/sources?" + q.Encode(), m.name == shown.name})
	}
	v.Levels = shown.levels
	sources := listenersOf(p.o)
	x := across{all[0].From, time.Duration(len(all)) * of.cell, 0, heatWidth}
	v.Ticks = x.ticks(of)
	var rows []sourceSlot
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		row := heatRow{Name: name, Slots: "no limit", State: sourceState(s, name, sources[name])}
		n, limited := limit(p.o, s, scripts.PausedSource(name), p.o.Bounds[name].Parallel)
		if row.Limit = limited; n > 0 {
			row.Slots = fmt.Sprintf("%d of %d", len(s.Holders[name]), n)
		}
		row.Pauses, row.Limits = pauseFor(name), setLimit("source", name, limited != "")
		for _, one := range s.Pauses {
			if one.What == scripts.PausedSource(name) {
				row.State = append(row.State, pausedChip(true)...)
				row.Pause, row.Reason = p.o.Inspect.Pauses.Text(one), one.Reason
				row.Pauses = []act{pauseOrResume("source", name, true)}
			}
		}
		var slots []sourceSlot
		sum := tried()
		for _, b := range all {
			one := tried()
			for _, listener := range sources[name] {
				if more := b.Listeners[listener]; more != nil {
					one.Add(more)
				}
			}
			if one.OK+one.Failed > 0 {
				sum.Add(one)
				slots = append(slots, sourceSlot{b.From, name, one})
			}
		}
		row.Text = sourceSlot{Tried: sum}.text()
		row.draw(slots, shown, x, of.cell)
		v.Rows, rows = append(v.Rows, row), append(rows, slots...)
	}
	if v.AsTable {
		slices.SortStableFunc(rows, func(a, b sourceSlot) int { return b.From.Compare(a.From) })
		v.Table = sourceSlotTable.of(r, rows)
	}
	return "Sources", v, nil
}

// listenersOf returns the listeners of every source.
func listenersOf(o Options) map[string][]string {
	all := map[string][]string{}
	for _, r := range o.Inspect.Config.Reports {
		for _, l := range r.Listeners() {
			if l.Source != "" && !slices.Contains(all[l.Source], l.Name) {
				all[l.Source] = append(all[l.Source], l.Name)
			}
		}
	}
	return all
}

// sourceState says whether a source answers, and which of its listeners are paused.
func sourceState(s *sample, name string, listeners []string) (chips []chip) {
	for _, one := range s.Sources {
		if one.Name != name {
			continue
		}
		if one.Unreachable == "" {
			chips = append(chips, chip{State: "done", Text: "reachable"})
		} else {
			chips = append(chips, chip{State: "failed", Text: "unreachable, first " + words.When(one.Since, s.At)})
		}
	}
	for _, pause := range s.Pauses {
		if listener, ok := strings.CutPrefix(pause.What, "listener/"); ok && slices.Contains(listeners, listener) {
			since := "paused, " + words.When(pause.Since, s.At)
			chips = append(chips, chip{State: "paused", Name: listener, Text: since})
		}
	}
	return chips
}

// draw draws the cells of a row, which are as high as their level.
func (h *heatRow) draw(slots []sourceSlot, m measure, x across, of time.Duration) {
	paths := make([]strings.Builder, len(m.levels))
	wide := x.width * float64(of) / float64(x.of)
	for _, s := range slots {
		left, level := x.x(s.From), m.level(m.of(s.Tried))
		high := heatHeight * float64(level+1) / float64(len(m.levels))
		fmt.Fprintf(&paths[level], "M%.1f %.0fV%.1fh%.1fV%.0fz", left, heatHeight, heatHeight-high, wide, heatHeight)
		h.Cells = append(h.Cells, area{X: left, Width: wide, At: s.From.UnixMilli(), Text: h.Name + ": " + s.text()})
	}
	for level := range paths {
		if paths[level].Len() > 0 {
			h.Bars = append(h.Bars, curve{Class: fmt.Sprintf("level%d", level), Path: paths[level].String()})
		}
	}
}

// sourceSlot is what the listeners of a source did in a time.
type sourceSlot struct {
	From   time.Time
	Source string
	*tally.Tried
}

func tried() *tally.Tried { return &tally.Tried{Took: tally.Histogram{}} }

// text says what they did, in one line.
func (s sourceSlot) text() string {
	if s.OK+s.Failed == 0 {
		return "no tasks"
	}
	text := words.Count(s.OK, "task")
	if s.OK > 0 {
		text += ", p95 " + words.Short(s.Took.Quantile(0.95))
	}
	if s.Failed > 0 {
		text += ", " + count(s.Failed) + " failed"
	}
	return text
}

// sourceSlotTable is the heat map as a table.
var sourceSlotTable = listing[sourceSlot]{
	name: "slots", label: "Sources over time", path: "/sources",
	key: func(s sourceSlot) string { return s.Source + " " + s.From.UTC().Format(time.RFC3339) },
	columns: []column[sourceSlot]{
		fromColumn(func(s sourceSlot) time.Time { return s.From }),
		{
			key: "source", title: "Source", order: func(a, b sourceSlot) int { return cmp.Compare(a.Source, b.Source) },
			cell: text(func(s sourceSlot) string { return s.Source }),
		},
		counted("tasks", "Tasks done", func(s sourceSlot) int64 { return s.OK }),
		counted("rows", "Rows", func(s sourceSlot) int64 { return s.Rows }),
		quantileColumn("p50", "Median", 0.5, func(s sourceSlot) tally.Histogram { return s.Took }),
		quantileColumn("p95", "95th percentile", 0.95, func(s sourceSlot) tally.Histogram { return s.Took }),
		counted("failed", "Failed tries", func(s sourceSlot) int64 { return s.Failed }),
		{
			key: "share", title: "Failed share", class: "number",
			order: by(func(s sourceSlot) float64 { return failedShare(s.Tried) }),
			cell:  text(func(s sourceSlot) string { return fmt.Sprintf("%.1f %%", 100*failedShare(s.Tried)) }),
		},
	},
}
