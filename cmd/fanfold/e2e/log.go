package e2e

import (
	"strings"
	"testing"
)

// testLog writes to the test's log.
type testLog struct{ t testing.TB }

// Write implements io.Writer.
func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}
