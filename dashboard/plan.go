package dashboard

import (
	"fmt"
	"unicode/utf8"

	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/report"
)

// plan is a picture of the stages of a report, as an SVG, and the steps of its fold. A column has the listeners of a
// stage, and the last two are the fold and the file.
type plan struct {
	Width, Height int
	Boxes         []planBox
	Arrows        []string // paths
	Steps         []string
}

type planBox struct {
	X, Y        int // of its upper left corner
	Name, Class string
	Full        string // its whole name
}

// The picture's measures.
const (
	boxWidth, boxHeight = 190, 30
	columnGap, rowGap   = 50, 14
	planMargin          = 6
	maxBoxName          = 24 // characters
)

// TextX and TextY are the middle of a box.
func (b planBox) TextX() int { return b.X + boxWidth/2 }
func (b planBox) TextY() int { return b.Y + boxHeight/2 }

// BoxWidth and BoxHeight are the size of every box.
func (plan) BoxWidth() int  { return boxWidth }
func (plan) BoxHeight() int { return boxHeight }

// plansOf returns the plans of reports, by name.
func plansOf(reports map[string]*report.Report) map[string]plan {
	all := map[string]plan{}
	for name, r := range reports {
		all[name] = newPlan(r)
	}
	return all
}

func newPlan(r *report.Report) (p plan) {
	p.Steps, _ = fold.Steps(r) // the configuration is valid
	rows := 1
	for _, s := range r.Stages {
		rows = max(rows, len(s.Listeners))
	}
	p.Height = 2*planMargin + rows*(boxHeight+rowGap) - rowGap
	at := map[string]planBox{}
	add := func(column, row, of int, name, class string) planBox {
		free := p.Height - 2*planMargin - of*(boxHeight+rowGap) + rowGap // a column is in the middle
		b := planBox{
			X: planMargin + column*(boxWidth+columnGap), Y: planMargin + free/2 + row*(boxHeight+rowGap),
			Name: name, Full: name, Class: class,
		}
		if utf8.RuneCountInString(name) > maxBoxName {
			b.Name = "…" + string([]rune(name)[utf8.RuneCountInString(name)-maxBoxName+1:])
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
			at[l.Name] = add(i, row, len(s.Listeners), l.Name, class)
		}
	}
	end := add(len(r.Stages), 0, 1, "fold", "fold")
	file := add(len(r.Stages)+1, 0, 1, "file", "file")
	needed := fold.Needed(r)
	for _, l := range r.Listeners() {
		if l.From != nil {
			p.Arrows = append(p.Arrows, arrow(at[l.From.Listener], at[l.Name]))
		}
		if _, ok := needed[l.Name]; ok {
			p.Arrows = append(p.Arrows, arrow(at[l.Name], end))
		}
	}
	p.Arrows = append(p.Arrows, arrow(end, file))
	return p
}

// arrow returns the path from the right side of a box to the left side of another.
func arrow(from, to planBox) string {
	x1, y1, x2, y2 := from.X+boxWidth, from.Y+boxHeight/2, to.X, to.Y+boxHeight/2
	bend := columnGap / 2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %dm-5 -4l5 4l-5 4", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
}
