package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Top returns the lines of an overview that no terminal bounds.
func Top(t inspect.Top, order int) []string {
	v := View{top: t, Order: order}
	return v.Lines(0, 0)
}

// maxHead is the maximum number of lines above the tables.
const maxHead = 4

// overview returns the lines above the jobs, which leave at least half of a terminal to them.
func overview(t inspect.Top, width, height int, colours bool) []string {
	head := fmt.Sprintf("jobs: %s running, %s waiting, %s later, %s dead; %s quarantined", words.Grouped(t.Running),
		words.Grouped(t.Waiting), words.Grouped(t.Delayed), words.Grouped(t.Dead), words.Grouped(t.Quarantined))
	second := t.At.Format(time.DateTime)
	if t.Memory > 0 {
		second += fmt.Sprintf("   Redis uses %.0f %% of its memory", 100*t.Memory)
	}
	if t.Late >= 1 {
		second += "   late by " + seconds(t.Late)
	}
	if len(t.Paused) > 0 {
		second += "   paused: " + strings.Join(t.Paused, ", ")
	}
	lines := []string{head, second}
	if width > 0 {
		lines = strings.Split(screen.Wrap(head+"\n"+screen.OneLine(second), width), "\n")
		lines = lines[:min(len(lines), maxHead)]
	}
	var rows []table.Row
	for _, l := range t.Listeners {
		row := table.Row{
			l.Name, words.Grouped(l.Workers), words.Grouped(l.Waiting), words.Grouped(l.Running), words.Grouped(l.Lag),
			seconds(l.Oldest.Seconds()), "",
		}
		switch {
		case l.Paused != "":
			row[6] = "paused"
		case l.Workers == 0:
			row[6] = "no workers"
		}
		rows = append(rows, row)
	}
	paint := func(row table.Row) text.Colors {
		return map[any]text.Colors{"paused": {text.FgYellow}, "no workers": {text.FgRed}}[row[6]]
	}
	header := table.Row{"listener", "workers", "tasks", "in work", "unread", "oldest", ""}
	lines = append(append(lines, ""), tableLines(header, rows, width, paint, colours)...)
	if len(t.Lanes) > 0 {
		lines = append(append(lines, ""), laneLines(t, width)...)
	}
	if most := height / 2; height > 0 && len(lines) > most {
		lines = append(lines[:max(2, most-1)], "…")
	}
	return lines
}

// jobLines returns the lines of the table of jobs.
func jobLines(t inspect.Top, jobs []inspect.Running, width int) []string {
	var rows []table.Row
	header := table.Row{"id", "report", "status", "done", "data", "age", "deadline", "waits for"}
	spools := slices.ContainsFunc(t.Jobs, func(j inspect.Running) bool { return j.Spooled > 0 })
	if spools {
		header = slices.Replace(header, 4, 5, any("redis"), any("spool"))
	}
	for _, j := range jobs {
		row := table.Row{
			j.ID, cmp.Or(j.Report, "?"), j.State(), fmt.Sprintf("%d/%d", j.Done, j.Target),
			words.Bytes(j.Bytes), age(j.Started, t.At), words.When(j.Deadline, t.At), strings.Join(j.Open, ", "),
		}
		if spools {
			row = slices.Insert(row, 5, any(words.Bytes(j.Spooled)))
		}
		rows = append(rows, row)
	}
	return tableLines(header, rows, width, nil, false)
}

// laneLines returns the lines of the table of lanes.
func laneLines(t inspect.Top, width int) []string {
	var rows []table.Row
	for _, l := range t.Lanes {
		row := table.Row{l.Class, l.Lane, l.Waiting, l.Running, "none", ""}
		if l.Limit > 0 {
			row[4] = l.Limit
		}
		if l.Oldest != nil {
			row[5] = age(*l.Oldest, t.At)
		}
		rows = append(rows, row)
	}
	return tableLines(table.Row{"class", "lane", "waiting", "running", "limit", "oldest"}, rows, width, nil, false)
}

// tableLines returns the lines of a table whose cells have one line each.
func tableLines(
	header table.Row, rows []table.Row, width int, colour func(table.Row) text.Colors, colours bool,
) []string {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = screen.OneLine(fmt.Sprint(cell))
		}
	}
	t := screen.NewTable(header, rows)
	t.SetColumnConfigs(screen.Columns(header, rows, nil, width > 0, width))
	if colours {
		t.SetRowPainter(table.RowPainter(colour))
	}
	return strings.Split(t.Render(), "\n")
}

func seconds(n float64) string {
	if n < 1 {
		return ""
	}
	return words.Short(time.Duration(n * float64(time.Second)))
}

func age(from, now time.Time) string {
	if from.IsZero() {
		return ""
	}
	return words.Short(max(0, now.Sub(from)))
}
