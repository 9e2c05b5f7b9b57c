package command

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/show"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

func newStatus(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "status ID",
		Short: "Show a record and the state of its job",
		Args:  cobra.ExactArgs(1),
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			v, err := b.Inspect.Jobs.Get(c.Context(), ids[0])
			if err != nil {
				return err
			}
			if err := b.Inspect.Jobs.Times(c.Context(), &v); err != nil {
				return err
			}
			addManifest(c.Context(), b, &v)
			v.Size = b.Size(c.Context(), v.ID, v.File)
			rows := jobRows(v)
			if acts := b.actLines(c.Context(), ids[0]); len(acts) > 0 {
				rows = append(rows, table.Row{"acts", strings.Join(acts, "\n")})
			}
			return f.print(c, v, nil, rows, wrapped(2))
		}),
	}
}

// jobRows returns the rows of a job in a table.
func jobRows(v inspect.Job) []table.Row {
	rows := []table.Row{{"id", v.ID}, {"report", v.Report}, {"status", v.Status}, {"attempt", v.Attempt}}
	if t := v.Turn; t != nil {
		rows = append(rows, table.Row{"turn", fmt.Sprintf("%s of %s in lane %s of class %s; %s of the lane run",
			words.Grouped(t.Before+1), words.Grouped(t.Queue), t.Lane, t.Class, words.Grouped(t.Running))})
	}
	if v.SharedWith != "" {
		rows = append(rows, table.Row{"shared with", v.SharedWith})
	}
	if v.Unread != "" {
		rows = append(rows, table.Row{"not read", v.Unread})
	}
	if v.File != "" {
		rows = append(rows, table.Row{"file", v.File})
	}
	if v.Error != "" {
		rows = append(rows, table.Row{"error", v.Error})
	}
	if text := parametersText(v); text != "" {
		rows = append(rows, table.Row{"parameters", text})
	}
	if v.Rows != nil {
		rows = append(rows, table.Row{"rows", words.Grouped(*v.Rows)})
	}
	if v.Size != nil {
		rows = append(rows, table.Row{"size", words.Bytes(*v.Size)})
	}
	changed := v.Changed
	if v.Ended != nil {
		changed = nil
	}
	for i, at := range []*time.Time{v.Created, v.Started, changed, v.Ended} {
		if at != nil {
			rows = append(rows, table.Row{[]string{"created", "started", "changed", "ended"}[i], words.Stamp(*at)})
		}
	}
	if v.Duration != nil {
		rows = append(rows, table.Row{"duration", durationText(v)})
	}
	if v.Job != "" {
		job := v.Job
		if v.Stage > 0 { // 0 after the end
			job += fmt.Sprintf(", stage %d", v.Stage)
		}
		if v.Deadline != nil {
			job += ", deadline " + words.Stamp(*v.Deadline)
		}
		rows = append(rows, table.Row{"job", job})
	}
	if data := v.Where(); data != "" {
		rows = append(rows, table.Row{"data", data})
	}
	if v.Orphan {
		rows = append(rows, table.Row{"waits",
			"no process has the definition that the job was started with: fanfold adopt " + v.ID +
				" restarts it with the current one"})
	}
	for _, p := range v.Pauses {
		rows = append(rows, table.Row{"paused", p})
	}
	took := map[string]string{}
	for name, text := range course(v) {
		took[name] = ", " + text
	}
	if v.Status.Final() && v.Queued() > 0 {
		rows = append(rows, table.Row{"queue", "waited " + words.Short(v.Queued())})
	}
	for _, l := range v.Listeners {
		rows = append(rows, table.Row{l.Name, stepText(l, true) + took[l.Name]})
	}
	if v.FanIn != nil {
		rows = append(rows, table.Row{"fan-in", stepText(*v.FanIn, false) + took["fan-in"]})
	}
	if kept := v.Kept.Offer(); kept != "" {
		rows = append(rows, table.Row{"kept", kept})
	}
	return rows
}

// manifestTime is the timeout of a read of a manifest.
const manifestTime = 3 * time.Second

// addManifest adds what a job did from the manifest of its file, if its history is not kept and the manifest can be
// read within manifestTime: the answer has more than that.
func addManifest(ctx context.Context, b *backend, v *inspect.Job) {
	if v.File == "" || v.FanIn != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, manifestTime)
	defer cancel()
	at, err := b.Object(ctx, v.ID, v.File)
	if err != nil {
		return
	}
	if m, err := sink.ReadManifest(ctx, at.Sink, at.Name); err == nil {
		v.AddManifest(m)
	}
}

// course iterates over the steps of a job that has ended, by their names for people, with how long they waited and
// worked. The times of other steps are not known.
func course(v inspect.Job) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if !v.Status.Final() || v.Started == nil {
			return
		}
		for l, begin := range v.Course() {
			name := l.Name
			if name == job.StepFanIn {
				name = "fan-in"
			}
			if l.Ended == nil || l.Reused > 0 || l.AsOf != nil {
				continue
			}
			if !yield(name, l.Took(begin, *l.Ended)) {
				return
			}
		}
	}
}

// stepText describes the state of a step of a job.
func stepText(l inspect.Listener, reads bool) string {
	text := l.State
	if reads && l.State != "failed" && l.State != "stopped" {
		text += ", " + words.Count(l.Rows, "row")
		if data := l.Where(); data != "" {
			text += " (" + data + ")"
		}
	}
	if origin := l.Origin(time.Now()); origin != "" {
		return text + ", " + origin
	}
	if l.Tries > 0 {
		text += fmt.Sprintf(", try %d", l.Tries)
	}
	if l.Next != nil && l.Next.After(time.Now()) {
		text += ", next at " + words.Stamp(*l.Next)
	}
	if l.Why != "" {
		text += ": " + l.Why
	}
	return text
}

// parametersText formats the parameters of a record as NAME=VALUE, like --param.
func parametersText(v inspect.Job) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(v.Parameters, &fields) != nil {
		return report.Shorten(string(v.Parameters))
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := string(fields[name])
		var text string
		if fields[name][0] == '"' && json.Unmarshal(fields[name], &text) == nil {
			value = text
		}
		texts = append(texts, report.Shorten(name+"="+value))
	}
	return strings.Join(texts, " ")
}

// jobViews is a list of jobs.
type jobViews []inspect.Job

func (vs jobViews) print(f *flags, c *cobra.Command) error {
	return printList(f.printer, c, vs, table.Row{"id", "report", "status", "attempt", "file (error)"},
		func(v inspect.Job) table.Row {
			return table.Row{v.ID, v.Report, v.Status, v.Attempt, show.About(v)}
		})
}

// failed returns an error if a job made no file.
func (vs jobViews) failed() error {
	var n int
	var waiting string
	for _, v := range vs {
		if !v.Status.HasFile() {
			n++
		}
		if !v.Status.Final() {
			waiting += fmt.Sprintf("\nrecord %s: %s; fanfold why %s says what to do", v.ID, v.Error, v.ID)
		}
	}
	if n > 0 {
		return fault.JobFailed.New("%d of %d jobs failed%s", n, len(vs), waiting)
	}
	return nil
}
