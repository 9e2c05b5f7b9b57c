package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// draft is a report in the making. Every part is validated against those before it.
type draft struct {
	*checker
	*report.Report
	f         *reportFields
	listeners listeners
	used      map[string]bool // parameters
	guessed   bool            // a timeout or a retry is wrong, so the time of the listeners is unknown
	nameless  bool            // a listener has no valid name, so an unknown name may be meant for it
	unread    bool            // the fold could not be read, so a parameter may be meant for it
}

// report builds a report from its fields.
func (k *checker) report(f *reportFields) *report.Report {
	s := k.Of(f)
	d := &draft{checker: k, f: f, used: map[string]bool{}, Report: &f.Report}
	d.Line = s.Line
	if !s.Readable() {
		return d.Report
	}
	for i := range d.Parameters {
		k.checkParameter(&d.Parameters[i], d.TimeZone)
	}
	k.checkNotify(d.Notify)
	checkOnce(k, d.Once)
	d.guessed = !k.inherit(&d.Retry, report.DefaultRetry) || s.Wrong("timeout")
	d.nameless = len(f.Listeners) == 0 || // or some of the names are not valid
		s.Wrong("listeners") && 2*len(f.Listeners) < len(s.Get("listeners").Node.Content)
	for i := range f.Listeners {
		d.addListener(&f.Listeners[i])
	}
	d.listeners.checkFieldNames()
	d.resolve()
	staging{d, map[string]int{}}.place()
	checkDivided(d)
	if s.Get("fold").Given() {
		if d.unread = !(folding{d}).check(); !d.unread {
			checkFormat(d)
		}
	} else if d.checkJoin() {
		d.checkFile()
	}
	d.checkFirst()
	d.checkFilters()
	checkName(d)
	checkColumnsFrom(d)
	d.checkUse()
	d.checkTimeout()
	scheduling{d}.check()
	return d.Report
}

// checkNotify proves that the requests can be signed.
func (k *checker) checkNotify(n *report.Notify) {
	if n == nil {
		return
	}
	s := k.Of(n)
	k.inherit(&n.Retry, report.DefaultRetry)
	const remedy = `Write secret: ${NAME} and set the variable to the output of echo "whsec_$(openssl rand -base64 32)"`
	at := s.First("secret", "secret_file").Hidden()
	if _, err := n.Key(); !at.Given() && s.Readable() {
		s.Problem("no secret to sign the requests", remedy)
	} else if err != nil && !s.Wrong("secret", "secret_file") {
		at.Problem("the secret is "+err.Error(), remedy)
	}
}

// inherit sets the fields that the file leaves out. It returns false if a field is wrong.
func (k *checker) inherit(r *report.Retry, base report.Retry) bool {
	s, given := k.Of(r), *r
	*r = base
	if s.Has("retries") {
		r.Retries = given.Retries
	}
	if s.Has("delay") {
		r.Delay = given.Delay
	}
	if s.Has("backoff") {
		r.Exponential = given.Exponential
	}
	if s.Has("max_delay") {
		r.MaxDelay = given.MaxDelay
	}
	switch {
	case s.Wrong(): // the others may be right
	case s.Has("max_delay") && !r.Exponential:
		s.Get("max_delay").Problem("max_delay has no effect on a fixed delay",
			"Add backoff: exponential, or remove max_delay")
	case r.Exponential && r.MaxDelay < r.Delay:
		delay := report.ShortDuration(r.Delay)
		s.First("max_delay", "delay", "backoff").Problem("max_delay "+report.ShortDuration(r.MaxDelay)+
			" is shorter than delay "+delay,
			"Use a max_delay of at least "+delay+", a shorter delay, or backoff: fixed")
		r.MaxDelay = r.Delay // so that inherited values do not repeat the problem
	default:
		return !s.Given() || s.Readable()
	}
	return false
}

// checkUse finds parameters that nothing uses, mostly because of a misspelt name.
func (d *draft) checkUse() {
	if d.nameless || d.unread || !d.listeners.whole() {
		return
	}
	for i := range d.Parameters {
		if p := &d.Parameters[i]; !d.used[p.Name] {
			d.Of(p).Problem("no query uses this parameter", fmt.Sprintf("Use :%s in a query, or remove it", p.Name))
		}
	}
}

// whole reports whether every query could be read. If not, a value that seems unused may
// be used in another query, or by an external service.
func (ls listeners) whole() bool {
	return len(ls) > 0 && !slices.ContainsFunc(ls, func(l *draftListener) bool { return !l.Whole })
}

// checkTimeout validates the explicit timeout. A timeout shorter than all retries of the
// listeners is a warning, or with strict_timeout a problem.
func (d *draft) checkTimeout() {
	at, needed, byDefault, max := d.Of(d.f).Get("timeout"), d.StagesTime(), d.DefaultTimeout(), decode.MaxDuration
	if !at.Given() {
		d.Timeout = byDefault
	}
	const fewer = "Allow fewer retries, or shorten timeouts or delays"
	switch {
	case d.guessed:
		return
	case d.Timeout > max: // it was left out
		at.Problem(fmt.Sprintf("the computed default of %s is more than the maximum of %s",
			report.ShortDuration(byDefault), report.ShortDuration(max)),
			fmt.Sprintf("%s, or set a timeout of at most %s", fewer, report.ShortDuration(max)))
		return
	case d.Timeout >= needed:
		return
	}
	message := fmt.Sprintf("%s is shorter than %s, the maximum time of the stages with all retries",
		report.ShortDuration(d.Timeout), arithmetic(d.LongestListeners(), needed))
	if !d.f.StrictTimeout {
		at.Warn(message, "A job fails at its timeout, even if it has tries left")
		return
	}
	remedy := fewer
	if needed <= max {
		remedy = fmt.Sprintf("Use at least %s plus the time to make the file", report.ShortDuration(needed))
		if slices.ContainsFunc(d.LongestListeners(), func(l *report.Listener) bool { return l.Retry.Retries > 0 }) {
			remedy += ", or allow fewer retries"
		}
	}
	if byDefault <= max {
		remedy += ", or remove it to use " + report.ShortDuration(byDefault)
	}
	at.Problem(message, remedy+". Without strict_timeout, a shorter one is allowed")
}

// arithmetic writes the sum of the stages' times, such as 5m × 7 + 6m = 41m.
func arithmetic(stages []*report.Listener, sum time.Duration) string {
	var terms []string
	for _, l := range stages {
		term := report.ShortDuration(l.Try())
		if l.Overall > 0 {
			term = report.ShortDuration(l.Overall)
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
