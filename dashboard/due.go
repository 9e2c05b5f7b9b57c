package dashboard

import (
	"context"
	"net/http"

	"github.com/fanfold/fanfold/inspect"
)

// quarantine is the content of the page of quarantined entries.
type quarantine struct {
	Entries []inspect.Quarantined
	More    int // entries that are not listed
}

func (l listPages) quarantine(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	v := quarantine{Entries: s.Quarantined}
	if len(v.Entries) > maxRows {
		v.Entries = v.Entries[:maxRows]
	}
	v.More = max(0, int(s.Figures.Of("quarantined", ""))-len(v.Entries))
	return "Quarantine", v, nil
}

// due is the content of the page of delayed ids and timers.
type due struct {
	Strip  strip
	Later  []inspect.Delayed
	Timers []inspect.Timer
}

func (l listPages) due(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	v := due{Later: s.Delayed, Timers: s.Timers}
	for _, id := range s.Delayed {
		if id.Due != nil {
			v.Strip.add(s.At, *id.Due)
		}
	}
	for _, t := range s.Timers {
		if t.Due != nil {
			v.Strip.add(s.At, *t.Due)
		}
	}
	return "Due later", v, nil
}
