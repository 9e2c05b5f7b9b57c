package doctor

import (
	"slices"
	"strings"
)

// Results of a check.
const (
	Pass = "PASS"
	Warn = "WARN" // works, but not as well as it could
	Fail = "FAIL" // does not work, or will lose something
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// Findings are the results of all checks.
type Findings []Finding

// Failed reports whether a check has the result Fail, also if that is of one of several servers.
func (fs Findings) Failed(check string) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Result == Fail && f.is(check) })
}

// is reports whether the finding is that of a check, or of the check of one of several servers.
func (f Finding) is(check string) bool {
	return f.Check == check || strings.HasPrefix(f.Check, check+" of ")
}

// skips adds to the hint what was not checked because of the finding.
func (f *Finding) skips(what string) {
	if f.Hint != "" {
		f.Hint += "; "
	}
	f.Hint += "not checked because of this: " + what
}

// Count returns the number of checks that have a result.
func (fs Findings) Count(result string) int {
	var n int
	for _, f := range fs {
		if f.Result == result {
			n++
		}
	}
	return n
}

// newFinding makes a finding: Pass if err is nil, otherwise result with the text of err and a hint.
func newFinding(check, result, detail string, err error, hint string) Finding {
	if err == nil {
		return Finding{Check: check, Result: Pass, Detail: detail}
	}
	return Finding{Check: check, Result: result, Detail: err.Error(), Hint: hint}
}

// pass makes a finding with the result Pass.
func pass(check, detail string) Finding {
	return Finding{Check: check, Result: Pass, Detail: detail}
}
