package inspect

import (
	"context"
	"path"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/scripts"
)

// Acts are what people did, in the audit stream.
type Acts struct{ o *Options }

// ActFilter selects acts. An empty field selects all.
type ActFilter struct {
	Who, Act string    // patterns, such as *@host
	On       string    // exactly this object
	Since    time.Time // not older
	Before   string    // the entry of an act: older ones only
}

// List lists the acts that match, the newest first, up to a limit (0: all).
func (l Acts) List(ctx context.Context, f ActFilter, limit int) ([]audit.Act, error) {
	s := l.o.Scripts.First()
	return collect(each(s.Entries.NewestPages(ctx, s.Keys.Audit, f.Before), func(e scripts.Entry) audit.Act {
		return audit.Parse(e.ID, scripts.EntryTime(e.ID), e.Fields)
	}), f.selects, limit)
}

func (f ActFilter) selects(a audit.Act) bool {
	matches := func(pattern, text string) bool {
		ok, err := path.Match(pattern, text)
		return pattern == "" || ok && err == nil
	}
	return matches(f.Who, a.Who) && matches(f.Act, a.Act) && (f.On == "" || f.On == a.On) && !a.When.Before(f.Since)
}
