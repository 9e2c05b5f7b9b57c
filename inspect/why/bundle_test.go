package why

import (
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/installation"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// bundle is an Inspector of an installation.
type bundle struct {
	*installation.Installation
	in *inspect.Inspector
}

// setup makes a bundle whose configuration has more at its top level.
func setup(t *testing.T, more string) *bundle {
	t.Helper()
	i := installation.New(t, more)
	c := i.Config
	of := inspect.Config{Redis: c.Redis, Reports: c.Reports, Timers: c.Timers, Limits: c.Limits, Records: c.Records, Sources: c.Sources}
	return &bundle{i, inspect.New(inspect.Options{Config: of, Scripts: i.Scripts, Records: i.Records})}
}
