package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// Plan is how a report runs.
type Plan struct {
	Report    *report.Report
	Listeners map[string]Found // what a job found, by listener
	Steps     []string         // of the fold, with what they gave to the file
	File      *Found           // nil: there is none
	// Other is the definition of the job, if it is not that of the report. Its steps are those of the job, if they are
	// known.
	Other string

	gave []string // by step: its rows; nil: not known
}

// Found is what a listener or a fold has given to a job.
type Found struct {
	Rows int64
	Text string
}

// Of returns the plan of a valid report. The error is a *parse.Error.
func Of(r *report.Report) (*Plan, error) {
	steps, err := fold.Steps(r)
	if err != nil {
		return nil, err
	}
	p := &Plan{Report: r, Listeners: map[string]Found{}}
	for _, s := range steps {
		p.Steps = append(p.Steps, indented(s.Depth, s.Text))
	}
	return p, nil
}

// AddJob adds what the listeners of a job have found so far. text says it.
func (p *Plan) AddJob(v inspect.Job, text func(l inspect.Listener) string) {
	if v.Definition != "" {
		p.made(v.Definition)
	}
	for _, l := range v.Listeners {
		p.Listeners[l.Name] = Found{l.Rows, text(l)}
	}
}

// made says with which definition the job runs.
func (p *Plan) made(definition string) {
	if definition != p.Report.Hash() {
		p.Other, p.Steps = definition, nil
	}
}

// AddManifest adds what a file was made from.
func (p *Plan) AddManifest(m sink.Manifest) {
	p.made(m.Definition)
	for _, l := range m.Listeners {
		p.Listeners[l.Name] = Found{l.Rows, foundText(l)}
	}
	p.File = &Found{m.Rows, words.Count(m.Rows, "row") + ", " + words.Bytes(m.Bytes)}
	if m.Fold == nil {
		return // an earlier release wrote it
	}
	p.Steps, p.gave = nil, nil
	for _, s := range m.Fold {
		p.Steps = append(p.Steps, indented(s.Depth, s.Step+" → "+gaveText(s)))
		p.gave = append(p.gave, rowsText(s))
	}
}

// Expect adds the rows that another job of the report found, as what was to be expected of this one.
func (p *Plan) Expect(other *Plan) {
	expected := func(text, rows string) string { return text + "; expected " + rows }
	for name, found := range p.Listeners {
		if of, ok := other.Listeners[name]; ok {
			found.Text = expected(found.Text, words.Count(of.Rows, "row"))
			p.Listeners[name] = found
		}
	}
	if p.File != nil && other.File != nil {
		p.File.Text = expected(p.File.Text, words.Count(other.File.Rows, "row"))
	}
	if p.Other != other.Other || len(p.Steps) != len(other.gave) {
		return // they have other steps
	}
	for i, rows := range other.gave {
		if p.gave == nil {
			p.Steps[i] += " → expected " + rows // the job has not run them
		} else {
			p.Steps[i] = expected(p.Steps[i], rows)
		}
	}
}

func indented(depth int, text string) string { return strings.Repeat("  ", depth) + text }

// foundText says what a listener gave to a file.
func foundText(l sink.ManifestListener) string {
	if l.Omitted != "" {
		return "left out: " + l.Error
	}
	text := words.Count(l.Rows, "row") + " in " + words.Short(time.Duration(l.DurationMS)*time.Millisecond)
	if l.Tries > 1 {
		text += fmt.Sprintf(", try %d", l.Tries)
	}
	if l.Unmatched != nil && l.FirstUnmatched != nil {
		text += fmt.Sprintf("; %s match none of the first listener, and %s of that match none of these",
			words.Count(*l.Unmatched, "row"), words.Count(*l.FirstUnmatched, "row"))
	}
	return text
}

// rowsText says how many rows a step of the fold gave to the next one.
func rowsText(s sink.ManifestStep) string {
	if s.Rows == nil {
		return "as many rows as the limit needs"
	}
	return words.Count(*s.Rows, "row")
}

// gaveText also says how it ran.
func gaveText(s sink.ManifestStep) string {
	text := rowsText(s)
	switch op.How(s.How) {
	case "":
		return text
	case op.InMemory:
		return text + ", in memory"
	case op.Parallel:
		return text + ", in parallel"
	case op.Merged:
		return text + ", merged by their order"
	case op.Spilled:
		return text + ", spilled to the scratch file"
	}
	return text + ", " + s.How // a later release wrote it
}

// Lines returns the stages and the steps of the fold, one a line, with what the job found.
func (p *Plan) Lines() (lines []string) {
	for i, s := range p.Report.Stages {
		lines = append(lines, fmt.Sprintf("stage %d: %s", i+1, strings.Join(s.Names(), ", ")))
		for _, name := range s.Names() {
			if found, ok := p.Listeners[name]; ok {
				lines = append(lines, fmt.Sprintf("  %s: %s", name, found.Text))
			} else if len(p.Listeners) > 0 {
				lines = append(lines, fmt.Sprintf("  %s: not known", name))
			}
		}
	}
	if p.Report.Fold == "" && len(p.Report.Join.Listeners) > 0 {
		lines = append(lines, "join: short for")
		for line := range strings.SplitSeq(fold.Select(p.Report), "\n") {
			lines = append(lines, "  "+line)
		}
	}
	for _, step := range p.Steps {
		lines = append(lines, "fold: "+step)
	}
	if p.File != nil {
		lines = append(lines, "file: "+p.File.Text)
	}
	return lines
}
