package memory

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink/sinktest"
)

// TestSink is what every sink does.
func TestSink(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, Kind, func(t *testing.T) sinktest.Place {
		s := Open(report.SinkURL("memory://" + strings.Map(plain, strings.ToLower(t.Name()))))
		return sinktest.Place{
			Sink: s,
			List: func(*testing.T) []string {
				s.mu.Lock()
				defer s.mu.Unlock()
				return slices.Collect(maps.Keys(s.objects))
			},
			Read: func(_ *testing.T, name string) []byte {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.objects[name].data
			},
		}
	})
}

func plain(r rune) rune {
	if r < 'a' || r > 'z' {
		return '-'
	}
	return r
}
