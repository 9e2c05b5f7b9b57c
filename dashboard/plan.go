package dashboard

import (
	"fmt"
	"unicode/utf8"

	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/inspect/plan"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
)

// picture is a picture of a plan, as an SVG. A column has the listeners of a stage, and the last two are the fold and
// the file.
type picture struct {
	*plan.Plan
	Width, Height int
	Boxes         []planBox
	Arrows        []string // paths
	gap           int      // between columns
}

type planBox struct {
	X, Y        int // of its upper left corner
	Name, Class string
	Full        string // its whole name
	Rows        string // that it gave; empty: not known
}

// The picture's measures.
const (
	boxWidth, boxHeight = 190, 30
	columnGap, rowGap   = 50, 14
	rowsGap             = 90 // between columns if the arrows have numbers of rows
	planMargin          = 6
	maxBoxName          = 24 // characters
)

// TextX and TextY are the middle of a box.
func (b planBox) TextX() int { return b.X + boxWidth/2 }
func (b planBox) TextY() int { return b.Y + boxHeight/2 }

// RowsX and RowsY are where the rows of a box begin: above its arrows.
func (b planBox) RowsX() int { return b.X + boxWidth + 4 }
func (b planBox) RowsY() int { return b.TextY() - 9 }

// BoxWidth and BoxHeight are the size of every box.
func (picture) BoxWidth() int  { return boxWidth }
func (picture) BoxHeight() int { return boxHeight }

// picturesOf returns the pictures of reports, by name.
func picturesOf(reports map[string]*report.Report) map[string]*picture {
	all := map[string]*picture{}
	for name, r := range reports {
		if p, err := plan.Of(r); err == nil { // the configuration is valid
			all[name] = newPicture(p)
		}
	}
	return all
}

// RowsOf says how many rows a listener has given to the job; empty: not known.
func (p *picture) RowsOf(listener string) string {
	if found, ok := p.Listeners[listener]; ok {
		return words.Count(found.Rows, "row")
	}
	return ""
}

// newPicture draws a plan. That of a job with another definition has its steps alone.
func newPicture(of *plan.Plan) *picture {
	p, r := &picture{Plan: of, gap: columnGap}, of.Report
	if len(of.Listeners) > 0 {
		p.gap = rowsGap
	}
	if of.Other != "" {
		return p
	}
	rows := 1
	for _, s := range r.Stages {
		rows = max(rows, len(s.Listeners))
	}
	p.Height = 2*planMargin + rows*(boxHeight+rowGap) - rowGap
	at := map[string]planBox{}
	add := func(column, row, of int, name, class string, found *plan.Found) planBox {
		free := p.Height - 2*planMargin - of*(boxHeight+rowGap) + rowGap // a column is in the middle
		b := planBox{
			X: planMargin + column*(boxWidth+p.gap), Y: planMargin + free/2 + row*(boxHeight+rowGap),
			Name: name, Full: name, Class: class,
		}
		if utf8.RuneCountInString(name) > maxBoxName {
			b.Name = "…" + string([]rune(name)[utf8.RuneCountInString(name)-maxBoxName+1:])
		}
		if found != nil {
			b.Rows = words.Grouped(found.Rows)
		}
		p.Boxes = append(p.Boxes, b)
		p.Width = b.X + boxWidth + planMargin
		return b
	}
	for i, s := range r.Stages {
		for row := range s.Listeners {
			l := &s.Listeners[row]
			class := "listener"
			if l.Optional {
				class = "optional"
			}
			var rows *plan.Found
			if found, ok := of.Listeners[l.Name]; ok {
				rows = &found
			}
			at[l.Name] = add(i, row, len(s.Listeners), l.Name, class, rows)
		}
	}
	end := add(len(r.Stages), 0, 1, "fold", "fold", of.File)
	file := add(len(r.Stages)+1, 0, 1, "file", "file", nil)
	needed := fold.Needed(r)
	for _, l := range r.Listeners() {
		for _, other := range l.Needs() {
			p.arrow(at[other], at[l.Name])
		}
		if _, ok := needed[l.Name]; ok {
			p.arrow(at[l.Name], end)
		}
	}
	p.arrow(end, file)
	return p
}

// arrow adds the path from the right side of a box to the left side of another.
func (p *picture) arrow(from, to planBox) {
	x1, y1, x2, y2 := from.X+boxWidth, from.Y+boxHeight/2, to.X, to.Y+boxHeight/2
	bend := p.gap / 2
	p.Arrows = append(p.Arrows, fmt.Sprintf(
		"M%d %dC%d %d %d %d %d %dm-5 -4l5 4l-5 4", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2))
}
