// Package show shows the progress of jobs: as bars on a terminal (Bars), or as one line per change
// (Lines). Top shows an overview.
package show

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
	"github.com/fanfold/fanfold/internal/words"
)

const (
	// MaxBars is the maximum number of jobs with a bar for every listener. For more jobs, one bar
	// shows how many have ended.
	MaxBars = 10
	// barLength is the width of a bar.
	barLength = 22
	// drawEvery is how often the terminal is drawn.
	drawEvery = 100 * time.Millisecond
)

// Bars draws jobs on a terminal: a bar for every job and every listener, with its rows and the time
// that it has worked. The number of rows of a query is not known before its end, so a bar only moves
// and does not show a percentage.
type Bars struct {
	writer progress.Writer
	drawn  chan struct{}   // closed when the last line is drawn
	shown  map[string]*bar // by job, or job and listener
	jobs   uint64          // with a bar
	widest int             // width of the widest name
	many   *bar            // one bar for many jobs; nil: every job has a bar
	pauses pauses
}

// NewBars draws jobs on a terminal until Close. The number of jobs decides whether each has a bar.
func NewBars(terminal io.Writer, width, jobs int, colours bool) *Bars {
	b := newBars(terminal, width, colours)
	if jobs > MaxBars {
		b.many = b.total(words.Count(jobs, "job"), jobs)
		b.many.show(working, "0 have ended")
	}
	return b
}

// newBars returns Bars without a bar.
func newBars(terminal io.Writer, width int, colours bool) *Bars {
	style := progress.StyleDefault
	style.Chars.Indeterminate = progress.IndeterminateIndicatorMovingBackAndForth("<=>", drawEvery)
	style.Chars.Finished, style.Chars.Unfinished = "=", "."
	style.Options.KeepTrackersTogether = true
	style.Options.Separator = " "
	style.Options.DoneString = " [" + strings.Repeat("=", barLength-2) + "]"
	style.Options.ErrorString = " [" + strings.Repeat("-", barLength-2) + "]"
	style.Visibility = progress.StyleVisibility{Tracker: true, Value: true}
	if colours {
		style.Colors.Tracker, style.Colors.Error = text.Colors{text.FgCyan}, text.Colors{text.FgRed}
	}
	b := &Bars{writer: progress.NewWriter(), drawn: make(chan struct{}), shown: map[string]*bar{}, pauses: pauses{}}
	b.writer.SetStyle(style)
	b.writer.SetOutputWriter(terminal)
	b.writer.SetTerminalWidth(width)
	b.writer.SetTrackerLength(barLength)
	b.writer.SetTrackerPosition(progress.PositionRight)
	b.writer.SetUpdateFrequency(drawEvery)
	b.writer.SetSortBy(progress.SortByIndex)
	go func() {
		defer close(b.drawn)
		b.writer.Render()
	}()
	return b
}

// total adds a bar that shows which part of something has ended.
func (b *Bars) total(name string, of int) *bar {
	line := b.bar("", name, 0)
	line.UpdateTotal(int64(of))
	return line
}

// Close draws the bars a last time and stops.
func (b *Bars) Close() {
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		b.writer.Stop() // which does nothing before the first line is drawn
		select {
		case <-b.drawn:
			return
		case <-tick.C:
		}
	}
}

// Event implements watch.Watcher. It does nothing: Show shows the change.
func (b *Bars) Event(watch.Event) error { return nil }

// Show implements watch.Watcher. Pauses are lines above the bars.
func (b *Bars) Show(v inspect.Job) error {
	if b.many != nil {
		if v.Status.Final() {
			b.many.Increment(1)
			b.many.show(working, words.Grouped(b.many.Value())+" have ended")
		}
		return nil
	}
	job := b.shown[v.ID]
	if job == nil {
		b.jobs++
		job = b.bar(v.ID, v.ID, b.jobs<<16)
	}
	for i, l := range v.Listeners {
		key := v.ID + " " + l.Name
		line := b.shown[key]
		if line == nil {
			line = b.bar(key, "  "+printable(l.Name), job.Index+uint64(i)+1)
		}
		line.showListener(l)
	}
	for _, p := range b.pauses.changes(v) {
		b.writer.Log("%s", v.ID+" "+printable(p.says()))
	}
	job.showJob(v)
	return nil
}

// bar adds a bar. Names are padded to the widest one.
func (b *Bars) bar(key, name string, index uint64) *bar {
	line := &bar{name: name}
	line.Tracker = &progress.Tracker{
		DeferStart: true, AutoStopDisabled: true, Index: index,
		Units: progress.Units{Formatter: func(int64) string { return line.says() }},
	}
	b.shown[key] = line
	b.widest = max(b.widest, text.StringWidth(name))
	for _, one := range b.shown {
		one.UpdateMessage(text.Pad(one.name, b.widest, ' '))
	}
	line.show(idle, "")
	b.writer.AppendTracker(line.Tracker)
	return line
}

// bar is one line.
type bar struct {
	*progress.Tracker
	name string
	now  atomic.Pointer[barLine]
}

// barLine is the text after a bar.
type barLine struct {
	text  string
	since time.Time     // when it was first seen working; zero: not yet
	took  time.Duration // 0: it has not ended
}

// barState is what a bar looks like.
type barState int

const (
	idle    barState = iota // empty
	working                 // something moves in it
	done                    // full
	failed                  // struck through
)

// show updates a bar.
func (b *bar) show(state barState, text string) {
	line := barLine{text: text}
	if before := b.now.Load(); before != nil {
		line.since, line.took = before.since, before.took
	}
	switch {
	case state == working && line.since.IsZero():
		line.since = time.Now()
	case state >= done && !line.since.IsZero() && line.took == 0:
		line.took = time.Since(line.since)
	}
	b.now.Store(&line)
	switch {
	case b.IsDone():
	case state == idle && b.IsStarted():
		b.Reset()
	case state == working:
		b.Start()
	case state == done:
		b.MarkAsDone()
	case state == failed:
		b.MarkAsErrored()
	}
}

// says returns the text after the bar, with the time that it has worked.
func (b *bar) says() string {
	line := *b.now.Load()
	switch {
	case line.took > 0:
		return line.text + ", " + words.Short(line.took)
	case !line.since.IsZero():
		return line.text + ", " + words.Short(time.Since(line.since).Round(time.Second))
	}
	return line.text
}

// showJob updates the bar of a job.
func (b *bar) showJob(v inspect.Job) {
	switch {
	case v.Status.HasFile():
		b.show(done, string(v.Status))
	case v.Status.Final():
		b.show(failed, string(v.Status))
	case v.Job != "":
		b.show(working, fmt.Sprintf("%s, stage %d", v.Status, v.Stage))
	default:
		b.show(working, string(v.Status)+suffix(": ", printable(v.Waits)))
	}
}

// showListener updates the bar of a listener.
func (b *bar) showListener(l inspect.Listener) {
	state, text := idle, words.Count(l.Rows, "row")
	switch {
	case l.State == "running":
		state = working
	case l.State == "done":
		state, text = done, text+suffix(", ", l.Origin(time.Now()))
	case l.State == "waiting" && l.Next != nil:
		text += ", waits until " + l.Next.Local().Format(time.TimeOnly) + suffix(": ", printable(l.Why))
	case l.State == "waiting" && l.Rows == 0:
		text = "waiting"
	case l.State == "waiting":
		text += ", waiting"
	default: // omitted, failed or stopped
		state, text = failed, text+", "+l.State
	}
	b.show(state, text+suffix(", ", tried(l)))
}
