package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
)

// functions are the functions of the templates.
var functions = template.FuncMap{
	"stamp":       stamp,
	"short":       words.Short,
	"count":       count,
	"when":        when,
	"nav":         func() []page { return menu },
	"took":        took,
	"chip":        chipOf,
	"levelHeight": func(level int) int { return heatHeight / len(measures[0].levels) * (level + 1) },
	"percent":     func(ratio float64) string { return fmt.Sprintf("%.0f %%", 100*ratio) },
}

// took writes a duration in milliseconds. It takes an *int64.
func took(ms any) string { return words.Short(time.Duration(number(ms)) * time.Millisecond) }

// rate writes a rate, rounded up.
func rate(n float64) string { return strconv.FormatFloat(math.Ceil(n*10)/10, 'f', -1, 64) }

// chipOf returns the CSS class of a record's status.
func chipOf(s report.Status) string {
	switch s {
	case report.Success:
		return "done"
	case report.Partial:
		return "retry"
	case report.Failed:
		return "failed"
	}
	return "open"
}

// when writes a time relative to now. It takes a time.Time or a *time.Time.
func when(at any, now time.Time) string {
	if t, ok := at.(*time.Time); ok {
		at = *t
	}
	t, _ := at.(time.Time)
	return words.When(t, now)
}

// stamp writes a date and a time. It takes a time.Time or a *time.Time.
func stamp(at any) string {
	if t, ok := at.(*time.Time); ok {
		at = *t
	}
	t, _ := at.(time.Time)
	return words.Stamp(t)
}

// count writes a number with a comma between thousands.
func count(n any) string { return words.Grouped(int64(math.Round(number(n)))) }

// number converts the types of numbers that templates pass to count.
func number(n any) float64 {
	switch n := n.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case *int64:
		return float64(*n)
	case float64:
		return n
	}
	panic(fmt.Sprintf("%T is not a number", n)) // the template is wrong; its page shows an error
}

// page is an entry of the menu.
type page struct{ Name, Path, Title string }

var menu = []page{
	{"overview", "/", "Overview"},
	{"jobs", "/jobs", "Jobs"},
	{"records", "/records", "Records"},
	{"floods", "/floods", "Floods"},
	{"dead", "/dead", "Dead jobs"},
	{"quarantine", "/quarantine", "Quarantine"},
	{"listeners", "/listeners", "Listeners"},
	{"sources", "/sources", "Sources"},
	{"throughput", "/throughput", "Throughput"},
	{"due", "/due", "Due later"},
	{"reports", "/reports", "Reports"},
	{"audit", "/audit", "Audit"},
}
