package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// readTimeout takes the explicit timeout, if it leaves the listeners theirs with
// all their retries.
func (d *draft) readTimeout(at setting) {
	needed, otherwise := d.stagesTime(), d.DefaultTimeout()
	d.Timeout = at.duration(otherwise)
	const fewer = "Allow fewer retries, or shorten timeouts or delays"
	switch {
	case d.guessed: // what the listeners take is not known
	case needed > longest:
		at.problem(fmt.Sprintf("%s, which the longest listener of each stage can take with its retries, is more than the longest timeout of %s",
			d.arithmetic(needed), shortDuration(longest)), fewer)
	case d.Timeout > longest: // it was left out
		at.problem(fmt.Sprintf("its default of %s is more than the longest timeout of %s", shortDuration(otherwise), shortDuration(longest)),
			fmt.Sprintf("%s, or give a timeout of at least %s and the time of the fold", fewer, shortDuration(needed)))
	case d.Timeout < needed:
		remedy := fmt.Sprintf("Give at least %s and the time of the fold", shortDuration(needed))
		if slices.ContainsFunc(d.longestListeners(), func(l *Listener) bool { return l.Retry.Retries > 0 }) {
			remedy += ", or allow fewer retries"
		}
		if otherwise <= longest {
			remedy += ", or leave it out for " + shortDuration(otherwise)
		}
		at.problem(fmt.Sprintf("%s is shorter than %s, which the longest listener of each stage can take with its retries",
			shortDuration(d.Timeout), d.arithmetic(needed)), remedy)
	}
}

// arithmetic spells out how the time of the stages comes about, such as
// 5m × 7 + 6m = 41m.
func (d *draft) arithmetic(sum time.Duration) string {
	var terms []string
	stages := d.longestListeners()
	for _, l := range stages {
		term := shortDuration(l.try())
		if l.HTTP != nil && l.HTTP.Submit != nil {
			term = shortDuration(l.HTTP.Total)
		} else if n := l.Retry.Retries; n > 0 {
			term += fmt.Sprintf(" × %d + %s", n+1, shortDuration(l.Retry.Total()))
			if len(stages) > 1 {
				term = "(" + term + ")"
			}
		}
		terms = append(terms, term)
	}
	text, total := strings.Join(terms, " + "), shortDuration(sum)
	switch {
	case sum == forever:
		return text
	case text == total:
		return total
	}
	return text + " = " + total
}

// shortDuration writes 5m for 5m0s.
func shortDuration(t time.Duration) string {
	text := t.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
