package dashboard

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/tally"
)

// throughput is the content of the page of ended jobs, waits and run times.
type throughput struct {
	choices
	Reports []choice
	Kinds   []report.Status // of the legend
	Graphs  []graph
	Flags   []flag
	Table   table // instead of the pictures; without rows: nothing has happened, or the pictures are shown
	Empty   bool
}

// choices are the parameters of a page of counters.
type choices struct {
	Path    string
	Windows []link
	AsTable bool
	Other   link // the same as a table, or as pictures
}

// link is a link to another view of a page.
type link struct {
	Text, To string
	Chosen   bool
}

// choicesOf returns the parameters that a request has chosen.
func choicesOf(r *http.Request, path string, s window) choices {
	c := choices{Path: path, AsTable: r.FormValue("as") == "table"}
	with := func(name, value string) string {
		q := without(r.URL.Query(), "message", "page", name)
		if value != "" {
			q.Set(name, value)
		}
		return path + "?" + q.Encode()
	}
	for _, one := range windows {
		c.Windows = append(c.Windows, link{one.Name, with("range", one.Name), one.Name == s.Name})
	}
	c.Other = link{Text: "Show as a table", To: with("as", "table")}
	if c.AsTable {
		c.Other = link{Text: "Show as pictures", To: with("as", "")}
	}
	return c
}

// graph is a picture over time.
type graph struct {
	Title   string
	Height  float64
	Bottom  float64 // of its plot
	Y, X    []axisTick
	Columns []area
	Bars    []area
	Lines   []curve
	Flags   []flag
}

// BelowAxis is the end of the ticks of the times.
func (g graph) BelowAxis() float64 { return g.Bottom + 4 }

// area is a rectangle of a picture: a column with what it says, or a part of a bar.
type area struct {
	X, Y, Width, Height float64
	Class               string
	At                  int64 // the begin of its time
	Text                string
}

// Time is the begin of its time.
func (a area) Time() string { return time.UnixMilli(a.At).UTC().Format("2006-01-02 15:04 UTC") }

// curve is a line with its points.
type curve struct {
	Class, Path string
	Points      []axisTick
}

// graphWidth and the margins are those of all graphs, so that their columns are below each other.
const graphWidth, graphLeft, graphRight, graphTop = 960.0, 64.0, 8.0, 20.0

// endings are the statuses of ended jobs, from the bottom of a bar up.
var endings = []report.Status{report.Success, report.Partial, report.Failed, report.Cancelled}

// talliedPages makes the pages of what is counted.
type talliedPages struct {
	o       Options
	tallies *aged.Cache[period, buckets]
	acts    *aged.Cache[time.Duration, []flag]
}

// throughput is the page of ended jobs, waits and run times.
func (p talliedPages) throughput(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	s, name := windowOf(r), r.FormValue("report")
	all, err := p.tallies.Get(ctx, period{s.of, s.bar})
	if err != nil {
		return "", nil, err
	}
	acts, err := p.acts.Get(ctx, s.of)
	if err != nil {
		return "", nil, err
	}
	v := throughput{choices: choicesOf(r, "/throughput", s), Kinds: endings, Flags: all.flags(acts)}
	v.Reports = append(v.Reports, choice{"", "all reports", name == ""})
	for _, one := range slices.Sorted(maps.Keys(p.o.Inspect.Config.Reports)) {
		v.Reports = append(v.Reports, choice{one, one, one == name})
	}
	rows := make([]slot, len(all))
	empty := true
	for i, b := range all {
		rows[i] = slot{b.From, s.bar, ended(b, name)}
		empty = empty && len(rows[i].Status)+len(rows[i].Wait) == 0
	}
	switch {
	case v.AsTable:
		slices.Reverse(rows)
		v.Table = slotTable.of(r, rows)
	case empty:
		v.Empty = true
	default:
		v.Graphs = graphsOf(rows, s, v.Flags)
	}
	return "Throughput", v, nil
}

// ended returns what has ended of a report; empty: of all.
func ended(b tally.Bucket, name string) *tally.Ended {
	if name == "" {
		return b.All()
	}
	if one := b.Reports[name]; one != nil {
		return one
	}
	return tally.NewBucket(b.From).All()
}

// slot is what happened to jobs in a time.
type slot struct {
	From time.Time
	of   time.Duration
	*tally.Ended
}

func (s slot) total() (n int64) {
	for _, one := range s.Status {
		n += one
	}
	return n
}

// text says what happened, in one line.
func (s slot) text() string {
	var all []string
	for _, status := range endings {
		if n := s.Status[status]; n > 0 {
			all = append(all, count(n)+" "+string(status))
		}
	}
	all = append(all, percentiles("wait", s.Wait)...)
	return strings.Join(append(all, percentiles("run", s.Run)...), ", ")
}

func percentiles(what string, h tally.Histogram) []string {
	if h.Count() == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s p50 %s, p95 %s", what, words.Short(h.Quantile(0.5)), words.Short(h.Quantile(0.95)))}
}

// graphsOf draws the slots of a window: ended jobs by status, waits, and run times.
func graphsOf(rows []slot, s window, flags []flag) []graph {
	x := across{rows[0].From, time.Duration(len(rows)) * s.bar, graphLeft, graphWidth - graphLeft - graphRight}
	wide := x.width / float64(len(rows))
	ended := newGraph("Jobs that ended", 220, x, s, flags)
	highest := 0.0
	for _, row := range rows {
		highest = max(highest, float64(row.total()))
	}
	y, ticks := counts(graphTop, ended.Bottom-graphTop, highest)
	ended.Y = ticks
	waits := newGraph("Wait from the push to the start", 160, x, s, flags)
	runs := newGraph("Time from the start to the end", 160, x, s, flags)
	for _, row := range rows {
		sum, left := 0.0, x.x(row.From)
		for _, status := range endings {
			if n := float64(row.Status[status]); n > 0 {
				top := y.y(sum + n)
				ended.Bars = append(ended.Bars, area{
					X: left + wide*0.1, Y: top, Width: wide * 0.8, Height: y.y(sum) - top, Class: string(status),
				})
				sum += n
			}
		}
		for _, g := range []*graph{&ended, &waits, &runs} {
			g.Columns = append(g.Columns, area{
				X: left, Y: graphTop, Width: wide, Height: g.Bottom - graphTop,
				At: row.From.UnixMilli(), Text: row.text(),
			})
		}
	}
	waits.draw(x, rows, func(r slot) tally.Histogram { return r.Wait })
	runs.draw(x, rows, func(r slot) tally.Histogram { return r.Run })
	return []graph{ended, waits, runs}
}

// newGraph returns a graph without values.
func newGraph(title string, height float64, x across, s window, flags []flag) graph {
	g := graph{Title: title, Height: height, Bottom: height - 24, X: x.ticks(s)}
	for _, m := range flags {
		m.X = x.x(m.At)
		if n := len(g.Flags); n > 0 && m.X < g.Flags[n-1].X+flagWidth {
			g.Flags[n-1].join(m)
		} else if m.X >= x.left {
			g.Flags = append(g.Flags, m)
		}
	}
	return g
}

// draw adds the lines of two percentiles. A line has a gap where nothing is known.
func (g *graph) draw(x across, rows []slot, of func(slot) tally.Histogram) {
	highest := 0.0
	for _, row := range rows {
		highest = max(highest, of(row).Quantile(0.95).Seconds())
	}
	y, ticks := durations(graphTop, g.Bottom-graphTop, highest)
	g.Y = ticks
	for class, share := range map[string]float64{"p50": 0.5, "p95": 0.95} {
		c, path, pen := curve{Class: class}, strings.Builder{}, "M"
		for _, row := range rows {
			h := of(row)
			if h.Count() == 0 {
				pen = "M"
				continue
			}
			at := axisTick{X: x.x(row.From.Add(row.of / 2)), Y: y.y(h.Quantile(share).Seconds())}
			fmt.Fprintf(&path, "%s%.1f %.1f", pen, at.X, at.Y)
			pen, c.Points = "L", append(c.Points, at)
		}
		c.Path = path.String()
		g.Lines = append(g.Lines, c)
	}
	slices.SortFunc(g.Lines, func(a, b curve) int { return strings.Compare(a.Class, b.Class) })
}

// slotTable is the same as a table.
var slotTable = listing[slot]{
	name: "throughput", label: "Jobs that ended", path: "/throughput",
	key: func(s slot) string { return s.From.UTC().Format(time.RFC3339) },
	columns: []column[slot]{
		fromColumn(func(s slot) time.Time { return s.From }),
		endedColumn(report.Success), endedColumn(report.Partial), endedColumn(report.Failed),
		endedColumn(report.Cancelled),
		quantileColumn("wait50", "Wait, median", 0.5, func(s slot) tally.Histogram { return s.Wait }),
		quantileColumn("wait95", "Wait, 95th percentile", 0.95, func(s slot) tally.Histogram { return s.Wait }),
		quantileColumn("run50", "Run time, median", 0.5, func(s slot) tally.Histogram { return s.Run }),
		quantileColumn("run95", "Run time, 95th percentile", 0.95, func(s slot) tally.Histogram { return s.Run }),
	},
}

// fromColumn is a column with the begin of a time.
func fromColumn[R any](of func(R) time.Time) column[R] {
	return column[R]{
		key: "from", title: "From", class: "name", order: by(func(r R) int64 { return of(r).UnixMilli() }),
		cell: func(r R) cell {
			return cell{Text: of(r).UTC().Format("2006-01-02 15:04 UTC"), At: of(r).UnixMilli()}
		},
	}
}

func endedColumn(status report.Status) column[slot] {
	return counted(strings.ToLower(string(status)), string(status), func(s slot) int64 { return s.Status[status] })
}

func quantileColumn[R any](key, title string, share float64, of func(R) tally.Histogram) column[R] {
	return column[R]{
		key: key, title: title, class: "number", order: by(func(r R) time.Duration { return of(r).Quantile(share) }),
		cell: text(func(r R) string {
			if of(r).Count() == 0 {
				return ""
			}
			return words.Short(of(r).Quantile(share))
		}),
	}
}
