package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/scripts/tally"
	"github.com/fanfold/fanfold/sink"
)

// flowPages makes the page of a report: how its jobs flow from the sources to the file.
type flowPages struct {
	listPages
	jobs  *jobPages
	pasts aged.Cache[string, reportPast] // by report
}

// reportPast is what has happened to the jobs of a report.
type reportPast struct {
	tally.Bucket                // of the last flowHours
	Last         *inspect.Job   // the job that got its file last; nil: none, or it is not known
	Made         *sink.Manifest // of its file; nil: it is not known
	Unread       string         // why Last is not known; empty: it is
}

const (
	// flowHours is the time of which the page of a report counts tries. It is also how old its last file is at most.
	flowHours = 24 * time.Hour
	// maxPastAge is the maximum age of a reportPast, and maxPasts the maximum number of cached ones.
	maxPastAge, maxPasts = time.Minute, 500
)

func newFlowPages(l listPages, jobs *jobPages) *flowPages {
	p := &flowPages{listPages: l, jobs: jobs}
	p.pasts = aged.Cache[string, reportPast]{MaxAge: maxPastAge, Max: maxPasts, Timeout: pageTimeout, Ask: p.past}
	return p
}

// past reads what has happened to the jobs of a report.
func (p *flowPages) past(ctx context.Context, name string) (reportPast, error) {
	now := time.Now()
	past := reportPast{Bucket: tally.NewBucket(now.Add(-flowHours))}
	hours, err := p.o.Inspect.Tally.Read(ctx, past.From, now, time.Hour)
	if err != nil {
		return past, err
	}
	for _, b := range hours {
		past.Add(b)
	}
	err = p.jobs.queries.run(ctx, func(ctx context.Context) error {
		for _, status := range []report.Status{report.Success, report.Partial} {
			found, err := p.o.Inspect.Jobs.Search(ctx, record.Filter{Report: name, Status: status, Since: flowHours}, 1)
			if err != nil && status == report.Success { // a table may have no PARTIAL
				return err
			}
			for _, r := range found {
				if one := inspect.OfRecord(r); past.Last == nil || one.Changed.After(*past.Last.Changed) {
					past.Last = &one
				}
			}
		}
		return nil
	})
	if err != nil {
		past.Unread = err.Error()
	} else if past.Last != nil {
		past.Made = p.jobs.madeFrom(ctx, *past.Last)
	}
	return past, nil
}

// flow is the content of the page of a report.
type flow struct {
	*report.Report
	reportPast
	Plan          *picture // nil: none
	Paused        bool
	Waiting       float64 // ids that wait for the end of a pause, or for a slot
	Running       int
	Jobs          *tally.Ended
	Width, Height int
	Steps         []flowStep
	Edges         []flowEdge
	Table         table
}

// flowStep is a box of the picture: a listener, the fold or the file.
type flowStep struct {
	Name, Kind   string // of a listener: its source
	Stage        int
	Source       string
	X, Y         int
	Class, State string // the worst of its states: as a color, and in words
	Running      int    // tasks, or jobs in the fold
	Waiting      int    // jobs
	P50, P95     time.Duration
	Rows         int64 // the mean of a task, or those of the last file; -1: not known
	Failed       int64 // tries
	Uses         string
	To           string // path of the page of its jobs
}

// flowEdge is an arrow with what passes on.
type flowEdge struct {
	Path, Text, Title string
	X, Y              int // of the text
}

// The measures of the picture.
const (
	flowWidth, flowHeight = 230, 88
	flowGap, flowRowGap   = 190, 22
	flowMargin            = 6
	flowLine              = 17 // height of a line of text
	maxFlowName           = 26 // characters
)

// one is the page of a report.
func (p *flowPages) one(ctx context.Context, r *http.Request, s *sample) (string, any, error) {
	name := r.PathValue("name")
	of := p.o.Inspect.Config.Reports[name]
	if of == nil {
		return "", nil, errNotFound
	}
	past, err := p.pasts.Get(ctx, name)
	if err != nil {
		return "", nil, err
	}
	v := &flow{Report: of, reportPast: past, Plan: p.plans[name], Jobs: past.Reports[name]}
	v.Paused = slices.ContainsFunc(s.Pauses, func(p inspect.Pause) bool { return p.What == "report/"+name })
	v.Waiting = s.Figures.Of("jobs_parked", name)
	for _, j := range s.Jobs {
		if j.Report == name {
			v.Running++
		}
	}
	v.draw(p.steps(of, past, s))
	v.Table = flowTable(name).of(r, slices.Clone(v.Steps))
	return "Report " + name, v, nil
}

// steps returns the listeners of a report, its fold and its file.
func (p *flowPages) steps(of *report.Report, past reportPast, s *sample) (steps []flowStep) {
	jobs := "/jobs?q=" + url.QueryEscape(of.Name)
	waits, folding := map[string]int{}, 0
	for _, j := range s.Jobs {
		if j.Report != of.Name {
			continue
		}
		for _, name := range j.Open {
			waits[name]++
		}
		if j.Status != job.StatusRun && j.Status != "" {
			folding++
		}
	}
	unreachable := map[string]bool{}
	for _, one := range s.Sources {
		unreachable[one.Name] = one.Unreachable != ""
	}
	var names []string
	for _, l := range of.Listeners() {
		names = append(names, l.Name)
	}
	loads := p.o.Inspect.Loads(names, s.Figures, s.Pauses, s.Slots)
	for stage, l := range of.Listeners() {
		load := loads[slices.Index(names, l.Name)]
		step := flowStep{
			Name: l.Name, Kind: "listener", Source: cmp.Or(l.Source, l.Kind), Stage: stage, Rows: -1,
			Running: int(load.Running), To: "/jobs?q=" + url.QueryEscape(l.Name),
		}
		step.Waiting = max(waits[l.Name]-step.Running, 0)
		if l.From != nil {
			step.Uses = fmt.Sprintf(":%s.%s", l.From.Listener, l.From.Column)
		}
		if t := past.Listeners[l.Name]; t != nil {
			step.Failed, step.P50, step.P95 = t.Failed, t.Took.Quantile(0.5), t.Took.Quantile(0.95)
			if t.OK > 0 {
				step.Rows = t.Rows / t.OK
			}
		}
		switch {
		case unreachable[l.Source]:
			step.Class, step.State = "bad", "source does not answer"
		case s.Figures.Known("tasks_workers", l.Name) && load.Workers == 0:
			step.Class, step.State = "bad", "no worker"
		case load.Paused != "":
			step.Class, step.State = "warn", "paused"
		case step.Failed > 0:
			step.Class, step.State = "warn", words.Count(step.Failed, "failed try")
		case step.Running > 0:
			step.Class, step.State = "good", "works"
		default:
			step.State = "idle"
		}
		steps = append(steps, step)
	}
	end := flowStep{
		Name: "fold", Kind: "fold", Stage: len(of.Stages) + 1, Running: folding, Rows: -1, State: "idle", To: jobs,
	}
	if folding > 0 {
		end.Class, end.State = "good", "works"
	}
	file := flowStep{Name: "file", Kind: "file", Source: of.File.Format, Stage: end.Stage + 1, Rows: -1,
		State: "none yet"}
	file.To = "/records?" + url.Values{"report": {of.Name}, "status": {"success"}, "since": {"any time"}}.Encode()
	if last := past.Last; last != nil {
		file.To, file.State = "/jobs/"+last.ID, "complete"
		file.Class = "good"
		if last.Status == report.Partial {
			file.Class, file.State = "warn", "not complete"
		}
		if last.Rows != nil {
			file.Rows = *last.Rows
			end.Rows = file.Rows
		}
		if past.Made != nil {
			file.Uses = words.Bytes(past.Made.Bytes)
		}
	}
	return append(steps, end, file)
}

// draw places the steps, and connects them.
func (v *flow) draw(steps []flowStep) {
	columns := map[int]int{}
	most := 1
	for _, s := range steps {
		columns[s.Stage]++
		most = max(most, columns[s.Stage])
	}
	v.Height = 2*flowMargin + most*(flowHeight+flowRowGap) - flowRowGap
	rows, at := map[int]int{}, map[string]flowStep{}
	for _, s := range steps {
		// A column is in the middle.
		free := v.Height - 2*flowMargin - columns[s.Stage]*(flowHeight+flowRowGap) + flowRowGap
		s.X = flowMargin + (s.Stage-1)*(flowWidth+flowGap)
		s.Y = flowMargin + free/2 + rows[s.Stage]*(flowHeight+flowRowGap)
		rows[s.Stage]++
		v.Width = s.X + flowWidth + flowMargin
		v.Steps = append(v.Steps, s)
		if s.Kind == "listener" {
			at[s.Name] = s
		}
	}
	end, file := v.Steps[len(v.Steps)-2], v.Steps[len(v.Steps)-1]
	needed := fold.Needed(v.Report)
	for _, l := range v.Listeners() {
		for _, other := range l.Needs() {
			column := ""
			if l.From != nil && l.From.Listener == other {
				column = ":" + other + "." + l.From.Column
			}
			v.connect(at[other], at[l.Name], column)
		}
		if _, ok := needed[l.Name]; ok {
			v.connect(at[l.Name], end, "")
		}
	}
	v.connect(end, file, "")
}

// connect adds an arrow with the column that passes on.
func (v *flow) connect(from, to flowStep, column string) {
	x1, y1, x2, y2 := from.X+flowWidth, from.Y+flowHeight/2, to.X, to.Y+flowHeight/2
	const bend = flowGap / 2
	e := flowEdge{
		Path: fmt.Sprintf("M%d %dC%d %d %d %d %d %dm-6 -4l6 4l-6 4", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2),
		Text: shortened(column, maxFlowName), X: x2 - 10, Y: y2 + 18,
	}
	e.Title = fmt.Sprintf("%s → %s", from.Name, to.Name)
	if column != "" {
		e.Title += ": " + column
	}
	if text := from.RowsText(); text != "" {
		e.Title += ", " + text
	}
	v.Edges = append(v.Edges, e)
}

// shortened returns the end of a text.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return text
}

// BoxWidth and BoxHeight are the size of every box.
func (flow) BoxWidth() int  { return flowWidth }
func (flow) BoxHeight() int { return flowHeight }

// RowsText says how many rows the step gives; empty: it is not known.
func (s flowStep) RowsText() string {
	switch {
	case s.Rows < 0:
		return ""
	case s.Kind == "listener":
		return "about " + words.Count(s.Rows, "row")
	}
	return words.Count(s.Rows, "row")
}

// RowsX and RowsY are where the text of the rows begins: above the arrows from the box.
func (s flowStep) RowsX() int { return s.X + flowWidth + 6 }
func (s flowStep) RowsY() int { return s.Y + flowHeight/2 - 8 }

// Times says how long the queries of a listener take; empty: it is not known.
func (s flowStep) Times() string {
	if s.P50 == 0 {
		return ""
	}
	return "p50 " + words.Short(s.P50) + ", p95 " + words.Short(s.P95)
}

// Now says how many tasks run and how many jobs wait.
func (s flowStep) Now() string {
	if s.Kind == "file" {
		return ""
	}
	return fmt.Sprintf("%s running, %s waiting", count(s.Running), count(s.Waiting))
}

// Lines are the texts in the box.
func (s flowStep) Lines() []flowText {
	source := shortened(s.Source, maxFlowName) + " · " + s.State
	texts := []string{shortened(s.Name, maxFlowName), source, s.Times(), s.Now()}
	switch s.Kind {
	case "fold":
		texts = []string{s.Name, s.State, s.Now(), s.RowsText()}
	case "file":
		texts = []string{s.Name, s.Source + " · " + s.State, s.RowsText(), s.Uses}
	}
	var lines []flowText
	for _, text := range texts {
		if text != "" {
			lines = append(lines, flowText{s.X + 10, s.Y + 20 + len(lines)*flowLine, text})
		}
	}
	return lines
}

// flowText is a line of text in the picture.
type flowText struct {
	X, Y int
	Text string
}

// Says is all that the box shows, in one text.
func (s flowStep) Says() string {
	text := s.Name
	for _, more := range []string{s.Source, s.State, s.Times(), s.RowsText(), s.Now(), s.Uses} {
		if more != "" {
			text += ", " + more
		}
	}
	return text
}

// flowTable is the table of the steps of a report.
func flowTable(name string) listing[flowStep] {
	duration := func(key, title string, of func(flowStep) time.Duration) column[flowStep] {
		c := column[flowStep]{key: key, title: title, class: "number", order: by(of)}
		c.cell = text(func(s flowStep) string {
			if of(s) == 0 {
				return ""
			}
			return words.Short(of(s))
		})
		return c

	}
	nameOf := func(s flowStep) string { return s.Name }
	return listing[flowStep]{
		name: "steps", label: "Steps of " + name, path: "/reports/" + name, key: nameOf, columns: []column[flowStep]{
			{
				key: "name", title: "Step", class: "name", order: by(nameOf),
				cell: func(s flowStep) cell { return cell{Text: s.Name, To: s.To} },
			},
			counted("stage", "Stage", func(s flowStep) int { return s.Stage }),
			{key: "source", title: "Source or format", cell: text(func(s flowStep) string { return s.Source })},
			{key: "state", title: "State", cell: func(s flowStep) cell {
				chips := map[string]string{"good": "done", "warn": "retry", "bad": "failed"}
				return cell{Text: s.State, Chip: cmp.Or(chips[s.Class], "open")}
			}},
			counted("running", "Running", func(s flowStep) int { return s.Running }),
			counted("waiting", "Waiting jobs", func(s flowStep) int { return s.Waiting }),
			duration("p50", "p50", func(s flowStep) time.Duration { return s.P50 }),
			duration("p95", "p95", func(s flowStep) time.Duration { return s.P95 }),
			{
				key: "rows", title: "Rows", class: "number", order: by(func(s flowStep) int64 { return s.Rows }),
				cell: text(func(s flowStep) string { return s.RowsText() }),
			},
			counted("failed", "Failed tries", func(s flowStep) int64 { return s.Failed }),
			{key: "uses", title: "Uses, or size", cell: func(s flowStep) cell {
				return cell{Text: s.Uses, Code: s.Kind == "listener" && s.Uses != ""}
			}},
		},
	}
}
