package command

import (
	"bytes"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// commands runs commands with the configuration of a stack.
type commands struct{ *e2e.Stack }

// fanfold runs a command in this process and returns its output and exit code.
func (c commands) fanfold(args ...string) (string, int) {
	c.Helper()
	var out bytes.Buffer
	code := run(c.Context(), append([]string{"-c", c.File}, args...), &out, &out)
	return out.String(), code
}
