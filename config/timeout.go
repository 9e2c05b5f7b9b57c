package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// readTimeout takes the explicit timeout. It is a deadline, and may leave the listeners
// less than all their retries can take: that is a warning, or with strict refused.
func (d *draft) readTimeout(at, strictly setting) {
	needed, otherwise := d.StagesTime(), d.DefaultTimeout()
	d.Timeout = at.duration(otherwise)
	strict := strictly.boolean()
	if d.guessed { // what the listeners take is not known
		return
	}
	const fewer = "Allow fewer retries, or shorten timeouts or delays"
	if d.Timeout > longest { // it was left out
		at.problem(fmt.Sprintf("its default of %s is more than the longest timeout of %s", report.ShortDuration(otherwise), report.ShortDuration(longest)),
			fmt.Sprintf("%s, or give a timeout of at most %s", fewer, report.ShortDuration(longest)))
		return
	}
	if d.Timeout >= needed {
		return
	}
	message := fmt.Sprintf("%s is shorter than %s, which the longest listener of each stage can take with its retries",
		report.ShortDuration(d.Timeout), d.arithmetic(needed))
	if !strict {
		at.warn(message, "A job is failed at its timeout, however many tries are left")
		return
	}
	remedy := fewer
	if needed <= longest {
		remedy = fmt.Sprintf("Give at least %s and the time of the fold", report.ShortDuration(needed))
		if slices.ContainsFunc(d.LongestListeners(), func(l *report.Listener) bool { return l.Retry.Retries > 0 }) {
			remedy += ", or allow fewer retries"
		}
	}
	if otherwise <= longest {
		remedy += ", or leave it out for " + report.ShortDuration(otherwise)
	}
	at.problem(message, remedy+". Without strict_timeout it is a deadline")
}

// arithmetic spells out how the time of the stages comes about, such as
// 5m × 7 + 6m = 41m.
func (d *draft) arithmetic(sum time.Duration) string {
	var terms []string
	stages := d.LongestListeners()
	for _, l := range stages {
		term := report.ShortDuration(l.Try())
		if l.HTTP != nil && l.HTTP.Submit != nil {
			term = report.ShortDuration(l.HTTP.Total)
		} else if n := l.Retry.Retries; n > 0 {
			term += fmt.Sprintf(" × %d + %s", n+1, report.ShortDuration(l.Retry.Total()))
			if len(stages) > 1 {
				term = "(" + term + ")"
			}
		}
		terms = append(terms, term)
	}
	text, total := strings.Join(terms, " + "), report.ShortDuration(sum)
	switch {
	case sum == report.Forever:
		return text
	case text == total:
		return total
	}
	return text + " = " + total
}
