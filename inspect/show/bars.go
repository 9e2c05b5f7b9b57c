// Package show shows jobs while they are watched: as bars on a terminal, or as a line for
// each change elsewhere.
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
)

const (
	// MaxBars is how many jobs are shown with a bar for each listener. Of more, one bar
	// shows how many have ended.
	MaxBars = 10
	// barLength is how wide a bar is.
	barLength = 22
	// drawEvery is how often a terminal is drawn.
	drawEvery = 100 * time.Millisecond
)

// Bars draws jobs on a terminal: a bar for each job and each of its listeners, with its
// rows and the time for which it was seen to work. How many rows a query will find is not
// known before its end, so a bar that works only moves: it is no percentage.
type Bars struct {
	writer progress.Writer
	drawn  chan struct{}   // closed when the last line is drawn
	shown  map[string]*bar // by job, or job and listener
	jobs   uint64          // that have a bar
	widest int             // name
	many   *bar            // of all jobs, where they are many; nil: each has a bar
	pauses pauses
}

// NewBars begins to draw so many jobs on a terminal, until Close.
func NewBars(terminal io.Writer, width, jobs int, colours bool) *Bars {
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
	if jobs > MaxBars {
		b.many = b.bar("", inspect.Count(jobs, "job"), 0)
		b.many.UpdateTotal(int64(jobs))
		b.many.show(working, "0 have ended")
	}
	go func() {
		defer close(b.drawn)
		b.writer.Render()
	}()
	return b
}

// Close draws the bars as they stand, a last time.
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

// Event implements inspect.Watcher. The next look shows more.
func (b *Bars) Event(inspect.Event) error { return nil }

// Look implements inspect.Watcher. Pauses are lines above the bars.
func (b *Bars) Look(v inspect.Job) error {
	if b.many != nil {
		if v.Status.Final() {
			b.many.Increment(1)
			b.many.show(working, fmt.Sprintf("%d have ended", b.many.Value()))
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

// bar adds a line. Names are as wide as the widest one.
func (b *Bars) bar(key, name string, index uint64) *bar {
	line := &bar{name: name}
	line.Tracker = &progress.Tracker{DeferStart: true, AutoStopDisabled: true, Index: index, Units: progress.Units{Formatter: func(int64) string { return line.says() }}}
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

// barLine is what stands behind a bar.
type barLine struct {
	text  string
	since time.Time     // when it was first seen to work; zero: not yet
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

// show brings a bar up to date.
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

// says is what stands behind the bar, with the time for which it was seen to work.
func (b *bar) says() string {
	line := *b.now.Load()
	switch {
	case line.took > 0:
		return line.text + ", " + line.took.Round(10*time.Millisecond).String()
	case !line.since.IsZero():
		return line.text + ", " + time.Since(line.since).Round(time.Second).String()
	}
	return line.text
}

// showJob brings the bar of a job up to date.
func (b *bar) showJob(v inspect.Job) {
	switch {
	case v.Status.HasFile():
		b.show(done, string(v.Status))
	case v.Status.Final():
		b.show(failed, string(v.Status))
	case v.Job != "":
		b.show(working, fmt.Sprintf("%s, stage %d", v.Status, v.Stage))
	default:
		b.show(working, string(v.Status))
	}
}

// showListener brings the bar of a listener up to date.
func (b *bar) showListener(l inspect.Listener) {
	state, text := idle, inspect.Count(l.Rows, "row")
	switch {
	case l.State == "running":
		state = working
	case l.State == "done":
		state = done
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
