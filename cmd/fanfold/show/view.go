package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/internal/words"
)

// View is an overview on a terminal, whose keys scroll, order and filter the jobs.
type View struct {
	Colours bool
	Order   int // of the jobs, in Orders

	top      inspect.Top
	err      error
	matches  map[string]bool // ids that the filter matches; nil: the view filters by itself
	filter   string
	typed    string // the filter that is being typed
	typing   bool
	paused   bool
	help     bool
	reversed bool
	first    int // job that is shown first
	page     int // jobs that fit
}

// orders are the columns by which jobs are ordered.
var orders = []struct {
	name    string
	compare func(a, b inspect.Running) int
}{
	{"deadline", func(a, b inspect.Running) int { return a.Deadline.Compare(b.Deadline) }},
	{"id", func(a, b inspect.Running) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	}},
	{"report", func(a, b inspect.Running) int { return cmp.Compare(a.Report, b.Report) }},
	{"status", func(a, b inspect.Running) int { return cmp.Compare(a.State(), b.State()) }},
	{"done", func(a, b inspect.Running) int { return cmp.Compare(a.Done*max(1, b.Target), b.Done*max(1, a.Target)) }},
	{"data", func(a, b inspect.Running) int { return cmp.Compare(b.Bytes+b.Spooled, a.Bytes+a.Spooled) }},
	{"age", func(a, b inspect.Running) int { return a.Started.Compare(b.Started) }},
}

// Orders returns the names of the columns by which jobs can be ordered. The first is the default.
func Orders() (names []string) {
	for _, o := range orders {
		names = append(names, o.name)
	}
	return names
}

// Sort orders jobs by a column of Orders.
func Sort(jobs []inspect.Running, order int) { slices.SortStableFunc(jobs, orders[order].compare) }

// keysHelp explains the keys.
var keysHelp = []string{
	"j, k, arrows  scroll by a job     PgUp, PgDn  by a page",
	"s             next column of the order, r reverses it",
	"/             filter: a part of an id, report, status or",
	"              listener; a kind of fanfold why; NAME=VALUE",
	"              of a parameter. Empty: all jobs",
	"p             pause the view       ?  these keys",
	"q             quit",
}

// Filter returns the filter.
func (v *View) Filter() string { return v.filter }

// Show shows what was read for a filter. Matches has the ids of the jobs; nil: the view compares their texts.
func (v *View) Show(t inspect.Top, filter string, matches map[string]bool, err error) {
	if filter == v.filter && !v.paused {
		v.top, v.matches, v.err = t, matches, err
	}
}

// Press handles a key: see screen.View.
func (v *View) Press(key string) (read, end bool) {
	if v.typing {
		return v.edit(key), false
	}
	switch key {
	case "q", "Q":
		return false, true
	case "j", "down":
		v.first++
	case "k", "up":
		v.first--
	case "pgdn":
		v.first += max(1, v.page)
	case "pgup":
		v.first -= max(1, v.page)
	case "s":
		v.Order, v.first = (v.Order+1)%len(orders), 0
	case "r":
		v.reversed = !v.reversed
	case "/":
		v.typing, v.typed = true, ""
	case "p":
		v.paused = !v.paused
		return !v.paused, false
	case "?":
		v.help = !v.help
	}
	return false, false
}

// edit changes the filter that is being typed, and reports whether it ends.
func (v *View) edit(key string) bool {
	switch {
	case key == "esc":
		v.typing = false
	case key == "enter":
		v.typing, v.filter, v.matches, v.first, v.paused = false, strings.TrimSpace(v.typed), nil, 0, false
		return true
	case key == "backspace" && v.typed != "":
		_, size := utf8.DecodeLastRuneInString(v.typed)
		v.typed = v.typed[:len(v.typed)-size]
	case utf8.RuneCountInString(key) == 1:
		v.typed += key
	}
	return false
}

// jobs returns the jobs that the filter matches, in order.
func (v *View) jobs() []inspect.Running {
	jobs := slices.DeleteFunc(slices.Clone(v.top.Jobs), func(j inspect.Running) bool {
		if v.matches != nil {
			return !v.matches[j.ID]
		}
		text := strings.ToLower(strings.Join(append([]string{j.ID, j.Report, j.State()}, j.Open...), "\n"))
		return !strings.Contains(text, strings.ToLower(v.filter))
	})
	Sort(jobs, v.Order)
	if v.reversed {
		slices.Reverse(jobs)
	}
	return jobs
}

// Lines returns the lines of a terminal of a width and a height; 0 means unbounded.
func (v *View) Lines(width, height int) []string {
	if v.err != nil {
		text := screen.Visible("fanfold top: " + v.err.Error() + "\nRetrying.")
		return strings.Split(screen.Wrap(text, max(1, width)), "\n")
	}
	if v.top.At.IsZero() {
		return []string{"reading"}
	}
	if v.help {
		lines := make([]string, len(keysHelp))
		for i, line := range keysHelp {
			lines[i] = screen.Snip(line, max(1, width))
		}
		return lines
	}
	lines := overview(v.top, width, height, v.Colours)
	jobs := v.jobs()
	if v.page = len(jobs); height > 0 { // the last line but one has the numbers
		v.page = max(0, min(len(jobs), height-len(lines)-5))
	}
	v.first = max(0, min(v.first, len(jobs)-v.page))
	lines = append(append(lines, ""), jobLines(v.top, jobs[v.first:v.first+v.page], width)...)
	if height > 0 {
		return append(lines, screen.Snip(screen.OneLine(v.foot(len(jobs))), width))
	}
	if more := int(v.top.Running) - len(jobs); more > 0 {
		lines = append(lines, "and "+words.Grouped(more)+" more")
	}
	return lines
}

// foot says which jobs are shown.
func (v *View) foot(jobs int) string {
	if v.typing {
		return "/" + v.typed + "_"
	}
	text := fmt.Sprintf("%s to %s of %s", words.Grouped(min(v.first+1, jobs)), words.Grouped(v.first+v.page),
		words.Grouped(jobs))
	if more := int(v.top.Running) - len(v.top.Jobs); more > 0 {
		text += " (" + words.Grouped(more) + " more are not read)"
	}
	if v.paused {
		text += ", paused"
	}
	text += ", by " + orders[v.Order].name
	if v.reversed {
		text += ", reversed"
	}
	if v.filter != "" {
		text += ", filter " + v.filter
	}
	return text + "; ? shows the keys"
}
