package command

import (
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
)

// stack is an e2e.Stack with the command line, and processes that run it.
type stack struct {
	*e2e.Stack
	commands
	processes
	web
	crowd crowd
}

// newStack is e2e.New.
func newStack(t testing.TB, reports string, more ...string) *stack {
	t.Helper()
	return withCommands(e2e.New(t, reports, more...))
}

// newStackAlone is e2e.NewAlone.
func newStackAlone(t testing.TB, settings []string, reports string, more ...string) *stack {
	t.Helper()
	return withCommands(e2e.NewAlone(t, settings, reports, more...))
}

// newStackOnCluster is e2e.NewOnCluster.
func newStackOnCluster(t testing.TB, partitions int, reports string, more ...string) (*stack, *testenv.Cluster) {
	t.Helper()
	s, cluster := e2e.NewOnCluster(t, partitions, reports, more...)
	return withCommands(s), cluster
}

// withCommands adds the command line to a stack.
func withCommands(s *e2e.Stack) *stack {
	p := processes{s}
	return &stack{Stack: s, commands: commands{s}, processes: p, web: web{s, p}, crowd: crowd{s}}
}

// in returns the stack for a subtest.
func (s *stack) in(t *testing.T) *stack { return withCommands(s.In(t)) }
