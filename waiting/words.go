package waiting

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/web/languages"
)

// facts are the known facts about a record.
type facts struct {
	inspect.Job
	Mark     record.Mark // of the record
	Now      time.Time
	Position position       // while the record is PENDING
	Leader   *inspect.Job   // while the record waits for its file; nil: it waits for none
	Left     Left           // while its job runs
	Manifest *sink.Manifest // of the file; nil: no file exists, or its manifest cannot be read

	Elsewhere bool // the file cannot be downloaded: see web.ErrElsewhere
}

// view is the content of a page.
type view struct {
	In     *languages.Language
	Class  string // waiting, good, warn or bad
	Title  string
	Says   []string
	Left   string // the range of the time left, or empty
	Why    string // the reason of Left
	Parts  []part
	Result *result // the file
	Ended  bool    // the state is final
	Help   bool    // support can help: the page shows the id
	Done   int     // number of parts that are done
	Share  int     // of the parts, in percent: a listener that is divided counts by what is read; 0: no bar
}

// part is the data of one listener.
type part struct{ Name, Class, Says string }

// describe describes the state of a record in words. reports are the reports of the configuration.
func describe(in *languages.Language, f facts, reports map[string]*report.Report) view {
	v := view{In: in, Class: "waiting"}
	of := reports[f.Report]
	switch {
	case f.Status == report.Pending && f.Leader != nil && f.Leader.Status == report.Processing:
		mine := f
		mine.Job = *f.Leader
		v.running(mine, of)
		v.Says = append([]string{in.Say("running.shared")}, v.Says...)
	case f.Status == report.Pending:
		v.queued(f)
	case f.Status == report.Processing:
		v.running(f, of)
	case f.Status.HasFile():
		v.done(f, of)
	case f.Status == report.Cancelled:
		v.Class, v.Title, v.Ended = "warn", in.Say("cancelled"), true
		v.Says = []string{in.Say("cancelled.says")}
	case f.Status == report.Deleted:
		v.Class, v.Title, v.Ended = "warn", in.Say("deleted"), true
		v.Says = []string{in.Say("deleted.says")}
	default:
		v.Class, v.Title, v.Ended, v.Help = "bad", in.Say("failed"), true, true
		v.Says = []string{in.Say("failed.says")}
		if says := mistaken(in, f, of); f.Status == report.Failed && len(says) > 0 {
			v.Class, v.Title, v.Says = "warn", in.Say("mistaken"), says
		}
	}
	return v
}

// queued describes a PENDING record.
func (v *view) queued(f facts) {
	in := v.In
	v.Title = in.Say("waiting")
	switch p := f.Position; {
	case len(f.Paused) > 0:
		v.Title, v.Says = in.Say("paused"), []string{in.Say("paused.report")}
	case p.Due.After(f.Now):
		v.Title, v.Says = in.Say("scheduled"), []string{in.Say("scheduled.in", "span", span(in, p.Due.Sub(f.Now)))}
	case p.Known && p.Exact && p.Before == 0:
		v.Says = []string{in.Say("waiting.next")}
	case p.Known && p.Exact:
		v.Says = []string{in.Count("waiting.before", int64(p.Before))}
	case p.Known:
		v.Says = []string{in.Say("waiting.more", "n", in.Number(int64(p.Before)))}
	default:
		v.Says = []string{in.Say("waiting.unknown")}
	}
}

// running describes a PROCESSING record.
func (v *view) running(f facts, of *report.Report) {
	in := v.In
	v.Title, v.Left, v.Why = in.Say("running"), f.Left.says(in, f.Now), f.Left.Why.says(in)
	v.parts(f, of)
	all := in.Count("running.parts", int64(len(v.Parts)), "done", strconv.Itoa(v.Done))
	if f.Job.Job != job.StatusRun {
		v.Share = 0 // the parts are done, and the file is not
	}
	switch f.Job.Job {
	case "":
		v.Says, v.Parts = []string{in.Say("running.soon")}, nil
	case job.StatusRun:
		v.Says = []string{all}
		if len(f.Paused) > 0 {
			v.Title, v.Says = in.Say("paused"), []string{all, in.Say("paused.part")}
		}
	case job.StatusReady, job.StatusFold:
		v.Title, v.Says = in.Say("creating"), []string{in.Say("creating.says")}
		if l := f.FanIn; l != nil && l.Next != nil && l.Next.After(f.Now) {
			v.Says = append(v.Says, in.Say("creating.again", "span", span(in, l.Next.Sub(f.Now))))
		}
	case job.StatusPublishing:
		v.Title, v.Says = in.Say("storing"), []string{in.Say("storing.says")}
	default:
		v.Title, v.Says, v.Left, v.Why = in.Say("ending"), []string{in.Say("ending.says")}, "", ""
	}
}

// pauses reports whether a listener or its source is paused.
func (f facts) pauses(of *report.Report, listener string) bool {
	if of != nil {
		if l, _, ok := of.Listener(listener); ok && slices.Contains(f.Paused, scripts.PausedSource(l.Source)) {
			return true
		}
	}
	return slices.Contains(f.Paused, scripts.PausedListener(listener))
}

// parts describes the parts of all stages.
func (v *view) parts(f facts, of *report.Report) {
	in, all := v.In, 0.0
	for _, l := range f.Listeners {
		read := 0.0 // of the listener
		if l.Parts > 0 {
			read = float64(l.Read) / float64(l.Parts)
		}
		p := part{Name: label(of, l.Name), Class: "open", Says: in.Say("part.open")}
		rows := in.Count("rows", l.Rows)
		switch {
		case l.State == "done":
			v.Done++
			read, p.Class, p.Says = 1, "done", rows
		case l.State == "omitted":
			v.Done++
			read, p.Class, p.Says = 1, "omitted", in.Say("part.omitted")
		case l.State == "failed", l.State == "stopped":
			p.Class, p.Says = "omitted", in.Say("part.stopped")
		case f.pauses(of, l.Name):
			p.Class, p.Says = "waits", in.Say("part.paused")
		case l.Next != nil && l.Next.After(f.Now) && l.Waits:
			p.Class, p.Says = "waits", in.Say("part.waits")
		case l.Next != nil && l.Next.After(f.Now):
			p.Class, p.Says = "waits", in.Say("part.again", "span", span(in, l.Next.Sub(f.Now)))
		case l.Stage > f.Stage:
			p.Says = in.Say("part.later")
		case l.Read > 0:
			p.Says = in.Count("part.divided", l.Parts, "read", in.Number(l.Read))
		case l.Rows > 0:
			p.Says = in.Say("part.so-far", "rows", rows)
		}
		v.Parts, all = append(v.Parts, p), all+read
	}
	if n := len(v.Parts); n > 0 {
		v.Share = int(100 * all / float64(n))
	}
}

// label returns the label of a listener for people.
func label(of *report.Report, name string) string {
	if of != nil {
		if l, _, ok := of.Listener(name); ok && l.Label != "" {
			return l.Label
		}
	}
	return plain(name[strings.LastIndexByte(name, '.')+1:])
}

// plain turns a name into words.
func plain(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Title returns the label of a report for people.
func Title(reports map[string]*report.Report, name string) string {
	if of := reports[name]; of != nil && of.Label != "" {
		return of.Label
	}
	return plain(name)
}

// result is a file in words.
type result struct {
	Rows, Size, Checksum string    // empty: unknown
	Created              time.Time // zero: unknown
	Missing, Older       []string  // listeners
}

// done describes a record with a file.
func (v *view) done(f facts, of *report.Report) {
	in := v.In
	if report.Skipped(f.Status, f.File, f.Rows) {
		v.Class, v.Title, v.Ended = "good", in.Say("empty"), true
		v.Says = []string{in.Say("empty.says")}
		return
	}
	if f.Elsewhere {
		*v = unreadableFile.view(in)
		return
	}
	v.Class, v.Title, v.Ended, v.Result = "good", in.Say("ready"), true, &result{}
	if f.Rows != nil {
		v.Result.Rows = in.Number(*f.Rows)
	}
	if m := f.Manifest; m != nil {
		v.Result = &result{
			Rows: in.Number(m.Rows), Size: size(in, m.Bytes), Checksum: m.CRC32C, Created: m.CreatedAt,
		}
		for _, l := range m.Listeners {
			if l.Omitted != "" {
				v.Result.Missing = append(v.Result.Missing, label(of, l.Name))
			} else if l.Stale {
				older := in.Say("partial.of", "part", label(of, l.Name), "time", in.Time(l.AsOf))
				v.Result.Older = append(v.Result.Older, older)
			}
		}
	}
	if f.Status == report.Partial {
		v.Class, v.Title, v.Help = "warn", in.Say("partial"), true
		if missing := v.Result.Missing; len(missing) > 0 {
			v.Says = append(v.Says, in.Say("partial.without", "parts", in.List(missing)))
		}
		if older := v.Result.Older; len(older) > 0 {
			v.Says = append(v.Says, in.Say("partial.older", "parts", in.List(older)))
		}
		if v.Says == nil {
			v.Says = []string{in.Say("partial.unknown")}
		}
	}
}
