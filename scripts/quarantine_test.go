package scripts

import (
	"testing"

	"github.com/fanfold/fanfold/report"
)

// TestOrigins of keys, whatever the number of partitions was when they were written.
func TestOrigins(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"fanfold:", "{fanfold:0}:"} {
		p := Partitions{New(Options{Keys: report.Keys{Prefix: prefix, Hash: "h-"}})}
		for key, want := range map[string]string{
			"fanfold:jobs": "jobs", "{fanfold:3}:task:a.b": "task:a.b", "{fanfold:12}:fanin:large": "fanin:large", "other:jobs": "", "{other:1}:jobs": "", "": "",
		} {
			if got := p.Origin(key); got != want {
				t.Errorf("%s with %s: %q, want %q", key, prefix, got, want)
			}
		}
	}
}
