package config

import (
	"regexp"
	"strconv"
	"time"
)

var rateForm = regexp.MustCompile(`^([1-9][0-9]{0,5})/(s|m|h)$`)

// bound decodes how much is asked of a source.
func (f fields) bound() Bound {
	return Bound{Parallel: f.get("parallel").integer(0, 0, 10_000), Rate: f.get("rate").rate()}
}

// rate decodes a number in a second, minute or hour. In a gap it is no limit.
func (p setting) rate() Rate {
	if !p.given() {
		return Rate{}
	}
	text, ok := p.text()
	if !ok {
		return Rate{}
	}
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		p.problem("not a rate", "Write a whole number from 1 to 999999 in a second, minute or hour, such as 10/s or 300/m")
		return Rate{}
	}
	count, _ := strconv.Atoi(parts[1]) // six digits
	return Rate{Count: count, Per: map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[parts[2]]}
}
