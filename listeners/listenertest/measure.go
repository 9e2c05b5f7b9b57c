package listenertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Measures waits until the only measure that has a limit has a text, and returns what was measured then.
func Measures(t testing.TB, source listeners.Measured, limits report.Protect, want string) (h report.Health) {
	t.Helper()
	Becomes(t, "what is measured", func() (text string) {
		var err error
		if h, err = source.Measure(t.Context(), limits); err != nil {
			return err.Error()
		}
		return limits.Read(h)[0].Text
	}, want)
	return h
}

// MeasuresOthers tests that of the statements that run, those of other users count: first only the source's user has
// some, then sleeps starts one of another user.
func MeasuresOthers(t testing.TB, source listeners.Measured, sleeps func()) {
	t.Helper()
	limits := report.Protect{StatementP95: time.Second}
	Measures(t, source, limits, "the statements of others run for 0s (p95)")
	sleeps()
	Becomes(t, "a statement of another user", func() string {
		h, err := source.Measure(t.Context(), limits)
		return fmt.Sprint(h.StatementP95 >= 300*time.Millisecond, err)
	}, "true <nil>")
}
