package report

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// Cron defines when a timer fires: at every local time in Zone that matches an expression.
type Cron struct {
	Expression string         // minute, hour, day of month, month, day of week; empty means none
	Zone       *time.Location // nil means UTC
}

// cronFields are the fields of an expression, with the form of an item of their lists.
var cronFields = [5]struct {
	name string
	form *regexp.Regexp
}{
	{"minute", cronItem(`[0-9]{1,2}`)},
	{"hour", cronItem(`[0-9]{1,2}`)},
	{"day of month", cronItem(`[0-9]{1,2}`, `l`, `[0-9]{1,2}w`)},
	{"month", cronItem(`[0-9]{1,2}|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec`)},
	{"day of week", cronItem(weekday, `(`+weekday+`)l`, `(`+weekday+`)#[1-5]`)},
}

const weekday = `[0-7]|sun|mon|tue|wed|thu|fri|sat`

// cronItem returns the form of *, a value, a range, any of them with a step, or one of others.
func cronItem(value string, others ...string) *regexp.Regexp {
	usual := `(\*|(` + value + `)(-(` + value + `))?)(/[1-9][0-9]?)?`
	return regexp.MustCompile(`^(` + strings.Join(append(others, usual), "|") + `)$`)
}

// cronRarest is the maximum number of years between two firings, from one 29 February to the
// next. The scripts do not accept a time that is more than ten years away.
const cronRarest = 8

// ParseCron reads an expression such as 0 9 * * mon-fri. Its Zone is UTC. The mistake is nil if
// there is none.
func ParseCron(text string) (Cron, *Mistake) {
	const form = `Write minute, hour, day of month, month and day of week, such as "0 9 * * mon-fri" or "30 18 L * *" for the last day of each month`
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return Cron{}, &Mistake{Message: "not a cron expression: it does not have five fields", Remedy: form}
	}
	for i, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			// An expression with only this item has no next time if the item is out of range.
			alone := [5]string{"*", "*", "*", "*", "*"}
			alone[i] = item
			_, err := gronx.NextTickAfter(strings.Join(alone[:], " "), time.Unix(0, 0).UTC(), false)
			if !cronFields[i].form.MatchString(strings.ToLower(item)) || err != nil {
				return Cron{}, &Mistake{Message: "not a cron expression: its " + cronFields[i].name + " is not valid",
					Remedy: form}
			}
		}
	}
	c := Cron{Expression: strings.Join(fields, " "), Zone: time.UTC}
	// The calendar repeats after 28 years.
	for year := 2000; year < 2028; year++ {
		from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		if next := c.Next(from); next.IsZero() || next.After(from.AddDate(cronRarest+1, 0, 0)) {
			return Cron{}, &Mistake{Message: "the date never occurs, or only after many years",
				Remedy: "Use a day that exists in the month"}
		}
	}
	return c, nil
}

// None reports whether there is no expression.
func (c Cron) None() bool { return c.Expression == "" }

// String returns the expression as in the configuration.
func (c Cron) String() string { return c.Expression }

// Next returns the first time after t; zero if there is none. Every local time counts once: a
// skipped one is the moment at which the clocks go forward, and a repeated one is the first of
// the two.
func (c Cron) Next(t time.Time) time.Time {
	zone := cmp.Or(c.Zone, time.UTC)
	// Evaluate the expression in a zone without clock changes.
	for wall := AsWall(t.In(zone)); ; {
		next, err := gronx.NextTickAfter(c.Expression, wall, false)
		if err != nil {
			return time.Time{}
		}
		if at := Reaches(next, zone); at.After(t) {
			return at
		}
		wall = next // the second of two such times
	}
}
