package waiting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
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
}

// part is the data of one listener.
type part struct{ Name, Class, Says string }

// describe describes the state of a record in words. reports are the reports of the configuration.
func describe(f facts, reports map[string]*report.Report) view {
	v := view{Class: "waiting"}
	of := reports[f.Report]
	switch {
	case f.Status == report.Pending && f.Leader != nil && f.Leader.Status == report.Processing:
		mine := f
		mine.Job = *f.Leader
		v.running(mine, of)
		v.Says = append([]string{"The same report is already being made. You get its file."}, v.Says...)
	case f.Status == report.Pending:
		v.queued(f)
	case f.Status == report.Processing:
		v.running(f, of)
	case f.Status.HasFile():
		v.done(f, of)
	case f.Status == report.Cancelled:
		v.Class, v.Title, v.Ended = "warn", "Cancelled", true
		v.Says = []string{"This report was cancelled. It will not be made."}
	case f.Status == report.Deleted:
		v.Class, v.Title, v.Ended = "warn", "No longer available", true
		v.Says = []string{"This report was deleted."}
	default:
		v.Class, v.Title, v.Ended, v.Help = "bad", "This report could not be made", true, true
		v.Says = []string{"Something went wrong on our side. Support can find the cause and run the report again."}
		if says := mistaken(f, of); f.Status == report.Failed && len(says) > 0 {
			v.Says = says
		}
	}
	return v
}

// mistaken says which parameters of a record cannot be used, without their values; nil: none. To run such a
// record again does not help.
func mistaken(f facts, of *report.Report) []string {
	if of == nil {
		return nil
	}
	var says []string
	for _, m := range of.Mistakes(f.Parameters, f.Now) {
		says = append(says, report.Shorten(m.Name)+" is "+m.Message+". "+m.Remedy+".")
	}
	if len(says) == 0 {
		return nil
	}
	says = append([]string{"It was requested with a value that cannot be used."}, says...)
	return append(says, "Request the report again with a valid value.")
}

// queued describes a PENDING record.
func (v *view) queued(f facts) {
	v.Title = "Waiting to start"
	switch p := f.Position; {
	case len(f.Paused) > 0:
		v.Title = "Paused"
		v.Says = []string{"Reports of this kind are paused at the moment. Yours starts automatically when the pause ends."}
	case p.Due.After(f.Now):
		v.Title = "Scheduled"
		v.Says = []string{"It starts in " + words.Short(p.Due.Sub(f.Now).Round(time.Second)) + "."}
	case p.Known && p.Exact && p.Before == 0:
		v.Says = []string{"It is the next one to start."}
	case p.Known && p.Exact && p.Before == 1:
		v.Says = []string{"One other report is ahead of it."}
	case p.Known && p.Exact:
		v.Says = []string{words.Grouped(int64(p.Before)) + " other reports are ahead of it."}
	case p.Known:
		v.Says = []string{"More than " + words.Grouped(int64(p.Before)) + " other reports are ahead of it."}
	default:
		v.Says = []string{"It has not started yet."}
	}
}

// running describes a PROCESSING record.
func (v *view) running(f facts, of *report.Report) {
	v.Title, v.Left, v.Why = "In progress", f.Left.Says(f.Now), f.Left.Why
	v.parts(f, of)
	all := fmt.Sprintf("%d of %d parts are ready.", v.Done, len(v.Parts))
	switch f.Job.Job {
	case "":
		v.Says, v.Parts = []string{"It is about to start."}, nil
	case job.StatusRun:
		v.Says = []string{all}
		if len(f.Paused) > 0 {
			v.Title = "Paused"
			v.Says = []string{
				all,
				"A part that it needs is paused at the moment. It continues automatically when the pause ends.",
			}
		}
	case job.StatusReady, job.StatusFold:
		v.Title, v.Says = "Creating the file", []string{"All parts are ready. The file is being created."}
		if l := f.FanIn; l != nil && l.Next != nil && l.Next.After(f.Now) {
			v.Says = append(v.Says,
				"That failed and is retried in "+words.Short(l.Next.Sub(f.Now).Round(time.Second))+".")
		}
	case job.StatusPublishing:
		v.Title, v.Says = "Almost there", []string{"The file is being stored."}
	default:
		v.Title, v.Says, v.Left, v.Why = "Ending", []string{"It will end without a file."}, "", ""
	}
}

// parts describes the parts of all stages.
func (v *view) parts(f facts, of *report.Report) {
	for _, l := range f.Listeners {
		p := part{Name: label(of, l.Name), Class: "open", Says: "not ready yet"}
		rows := words.Count(l.Rows, "row")
		switch {
		case l.State == "done":
			v.Done++
			p.Class, p.Says = "done", rows
		case l.State == "omitted":
			v.Done++
			p.Class, p.Says = "omitted", "left out: not available"
		case l.State == "failed", l.State == "stopped":
			p.Class, p.Says = "omitted", "not finished"
		case slices.Contains(f.Paused, "listener/"+l.Name):
			p.Class, p.Says = "waits", "paused"
		case l.Next != nil && l.Next.After(f.Now) && l.Waits:
			p.Class, p.Says = "waits", "waits for another system"
		case l.Next != nil && l.Next.After(f.Now):
			p.Class, p.Says = "waits", "did not answer; retried in "+words.Short(l.Next.Sub(f.Now).Round(time.Second))
		case l.Stage > f.Stage:
			p.Says = "starts after the others"
		case l.Rows > 0:
			p.Says = rows + " so far"
		}
		v.Parts = append(v.Parts, p)
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

// title returns the label of a report for people.
func title(reports map[string]*report.Report, name string) string {
	if of := reports[name]; of != nil && of.Label != "" {
		return of.Label
	}
	return plain(name)
}

// result is a file in words.
type result struct {
	Rows, Size, Checksum, Created string   // empty: unknown
	Missing, Older                []string // listeners
}

// done describes a record with a file.
func (v *view) done(f facts, of *report.Report) {
	if report.Skipped(f.Status, f.File, f.Rows) {
		v.Class, v.Title, v.Ended = "good", "No data", true
		v.Says = []string{"There is no data for this request, so there is no file."}
		return
	}
	if f.Elsewhere {
		*v = unreadableFile
		return
	}
	v.Class, v.Title, v.Ended, v.Result = "good", "Ready", true, &result{}
	if f.Rows != nil {
		v.Result.Rows = words.Grouped(*f.Rows)
	}
	if m := f.Manifest; m != nil {
		v.Result = &result{
			Rows: words.Grouped(m.Rows), Size: words.Bytes(m.Bytes), Checksum: m.CRC32C, Created: stamp(m.CreatedAt),
		}
		for _, l := range m.Listeners {
			if l.Omitted != "" {
				v.Result.Missing = append(v.Result.Missing, label(of, l.Name))
			} else if l.Stale {
				v.Result.Older = append(v.Result.Older, label(of, l.Name)+" (of "+stamp(l.AsOf)+")")
			}
		}
	}
	if f.Status == report.Partial {
		v.Class, v.Title, v.Help = "warn", "Ready, but not complete", true
		if missing := v.Result.Missing; len(missing) > 0 {
			without := "The file was created without: " + strings.Join(missing, ", ") + "."
			v.Says = append(v.Says, without+" Their columns are empty, or have a fixed value.")
		}
		if older := v.Result.Older; len(older) > 0 {
			v.Says = append(v.Says, "The file has older data: "+strings.Join(older, ", ")+".")
		}
		if v.Says == nil {
			v.Says = []string{"Some data was not available: the file was created without it, or with older data."}
		}
	}
}

// stamp formats a time in UTC.
func stamp(t time.Time) string {
	return t.UTC().Format("2 January 2006, 15:04 UTC")
}
