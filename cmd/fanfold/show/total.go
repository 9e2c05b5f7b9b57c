package show

import "io"

// Total draws one bar on a terminal, of which a known part is full.
type Total struct {
	bars *Bars
	bar  *bar
}

// NewTotal draws until Close a bar that is full when all of a number have ended.
func NewTotal(terminal io.Writer, width int, name string, all int, colours bool) *Total {
	bars := newBars(terminal, width, colours)
	t := &Total{bars, bars.total(name, all)}
	t.bar.show(working, "")
	return t
}

// Set shows how many have ended, and a text after the bar.
func (t *Total) Set(ended int, text string) {
	t.bar.SetValue(int64(ended))
	t.bar.show(working, text)
}

// Say shows a line above the bar.
func (t *Total) Say(line string) { t.bars.writer.Log("%s", printable(line)) }

// Close draws the bar a last time and stops.
func (t *Total) Close() { t.bars.Close() }
