package command

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
)

// TestArgumentsComplete: every command that takes ids or names completes them.
func TestArgumentsComplete(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`^(\[?REPORT|ID|NAME|ENTRY|MEMBER)\b`)
	nothing := reflect.ValueOf(cobra.NoFileCompletions).Pointer()
	known := map[string]bool{}
	visit(newRoot(kinds.Standard()), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "fanfold ")
		known[path] = true
		_, arguments, _ := strings.Cut(c.Use, " ")
		if names.MatchString(arguments) && reflect.ValueOf(c.ValidArgsFunction).Pointer() == nothing {
			t.Errorf("%s %s completes nothing: add it to completions", path, arguments)
		}
	})
	for path := range completions {
		if !known[path] {
			t.Errorf("completions has %q, which is not a command", path)
		}
	}
}
