package dashboard

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts/tally"
)

// chart has lines over the last hour, as SVG paths in a box of chartWidth by chartHeight. Max is the highest of all
// values.
type chart struct {
	Title, Max string
	Lines      []line
}

// line is a line of a chart. Last is its newest value; empty: there is none.
type line struct{ Class, Name, Last, Path string }

// Says is the chart in words.
func (c chart) Says() string {
	says := c.Title + ": "
	for _, l := range c.Lines {
		if l.Last != "" {
			says += l.Name + " " + l.Last + ", "
		}
	}
	return says + "at most " + c.Max + " in the last hour"
}

const (
	chartWidth  = 600
	chartHeight = 80
)

// charts draws the last hour until now.
func charts(points history, counted []tally.Bucket, now time.Time) []chart {
	perPoint := func(of func(point) float64) []float64 {
		all := make([]float64, len(points))
		for i, p := range points {
			all[i] = of(p)
		}
		return all
	}
	minutes, good, bad := make([]time.Time, len(counted)), make([]float64, len(counted)), make([]float64, len(counted))
	for i, b := range counted {
		minutes[i] = b.From
		for status, n := range b.All().Status {
			if status.HasFile() {
				good[i] += float64(n)
			} else {
				bad[i] += float64(n)
			}
		}
	}
	times := make([]time.Time, len(points))
	for i, p := range points {
		times[i] = p.at
	}
	whole := func(v float64) string { return count(v) }
	seconds := func(v float64) string { return words.Short(time.Duration(v * float64(time.Second))) }
	return []chart{
		draw("Ended per minute", whole, minutes, now,
			series{"good", "with a file", good}, series{"bad", "without", bad}),
		draw("Jobs", whole, times, now,
			series{"good", "running", perPoint(func(p point) float64 { return p.running })},
			series{"calm", "waiting ids", perPoint(func(p point) float64 { return p.waiting })}),
		draw("Tasks", whole, times, now, series{"good", "unread", perPoint(func(p point) float64 { return p.lag })}),
		draw("Delays", seconds, times, now,
			series{"good", "age of the oldest task", perPoint(func(p point) float64 { return p.oldest })},
			series{"bad", "lateness of timers", perPoint(func(p point) float64 { return p.late })}),
	}
}

type series struct {
	class, name string
	values      []float64
}

func draw(title string, format func(float64) string, times []time.Time, now time.Time, all ...series) chart {
	highest := 0.0
	for _, s := range all {
		for _, v := range s.values {
			highest = max(highest, v)
		}
	}
	c := chart{Title: title, Max: format(highest)}
	for _, s := range all {
		var path strings.Builder
		for i, v := range s.values {
			x := chartWidth * (1 - now.Sub(times[i]).Seconds()/hour.Seconds())
			y := chartHeight - 2 - (chartHeight-4)*v/max(highest, 1e-9)
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], max(x, 0), y)
		}
		one := line{Class: s.class, Name: s.name, Path: path.String()}
		if n := len(s.values); n > 0 {
			one.Last = format(s.values[n-1])
		}
		c.Lines = append(c.Lines, one)
	}
	return c
}

// strip counts the due times of every hour of the next day, and the overdue ones.
type strip struct {
	Overdue int
	Hours   [24]int
}

func (s *strip) add(now, due time.Time) {
	switch h := int(math.Floor(due.Sub(now).Hours())); {
	case h < 0:
		s.Overdue++
	case h < len(s.Hours):
		s.Hours[h]++
	}
}

// Bars returns a bar for the overdue times and one for every hour, with heights in percent of the highest.
func (s strip) Bars() []bar {
	highest := max(s.Overdue, 1)
	for _, n := range s.Hours {
		highest = max(highest, n)
	}
	bars := []bar{{Label: "overdue", Count: s.Overdue, Height: 100 * s.Overdue / highest, Late: s.Overdue > 0}}
	for h, n := range s.Hours {
		label := fmt.Sprintf("in %d to %d h", h, h+1)
		bars = append(bars, bar{Label: label, X: 12 * (h + 1), Count: n, Height: 100 * n / highest})
	}
	return bars
}

type bar struct {
	Label            string
	X, Count, Height int
	Late             bool
}

// Y returns the upper end of a bar, from the top.
func (b bar) Y() int { return 100 - b.Height }
