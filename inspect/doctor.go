package inspect

import (
	"context"
	"time"
)

// Results of a check.
const (
	Pass = "PASS"
	Warn = "WARN" // works, but not as well as it could
	Fail = "FAIL" // does not work, or will lose something
)

// finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

type Findings []Finding

// doctor looks at everything that the configuration names, writes and deletes one object
// in the sink and one scratch file, and changes nothing else.
func (in *Inspector) Doctor(ctx context.Context) Findings {
	var all Findings
	all = append(all, within(ctx, in.checkRedis)...)
	all = append(all, in.checkDatabases(ctx)...)
	all = append(all, in.checkAPIs(ctx)...)
	if !all.Failed("database " + in.config.Records.Database) {
		all = append(all, within(ctx, in.checkRecords)...)
	}
	return append(all, within(ctx, in.checkSink), within(ctx, checkScratch))
}

// checkTime bounds each check: a server that hangs leaves time for the others.
const checkTime = 15 * time.Second

// within makes a check in a time of its own.
func within[T any](ctx context.Context, check func(context.Context) T) T {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return check(ctx)
}

// failed tells whether a check FAILed.
func (fs Findings) Failed(check string) bool {
	for _, f := range fs {
		if f.Check == check {
			return f.Result == Fail
		}
	}
	return false
}

func (fs Findings) Count(result string) int {
	var n int
	for _, f := range fs {
		if f.Result == result {
			n++
		}
	}
	return n
}

// newFinding makes a finding: PASS without an error, otherwise that result.
func newFinding(check, result, detail string, err error, hint string) Finding {
	if err == nil {
		return Finding{Check: check, Result: Pass, Detail: detail}
	}
	return Finding{Check: check, Result: result, Detail: err.Error(), Hint: hint}
}
