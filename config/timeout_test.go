package config

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/decode"
)

// TestShortestTimeout finds the line between a timeout that is taken and one
// that is refused.
func TestShortestTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		edits string
		ok    bool
	}{
		{"timeout: 82m", true},
		{"timeout: 81m59s999ms", false},
		{"timeout: 10m\n    retry: 0", true},
		{"timeout: 9m59s999ms\n    retry: 0", false},
		{"timeout: 20m3s\n    retry: {retries: 1, delay: 1500ms}", true},
		{"timeout: 20m2s\n    retry: {retries: 1, delay: 1500ms}", false},
		{"retry: {retries: 1, delay: 200h}", true},  // 200h for each stage and the fold
		{"retry: {retries: 1, delay: 240h}", false}, // a default above 720h
		{"timeout: 720h\n    retry: {retries: 1, delay: 240h}", true},
		{"retry: {retries: 1, delay: 360h}", false},
		{"timeout: 720h\n    retry: {retries: 1, delay: 360h}", false},
	} {
		config, err := Load("f.yaml", []byte(edit(t, base, "timeout: 2h", c.edits+"\n    strict_timeout: true")), testEnvironment(), TestKinds)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.edits, err)
		}
		if err == nil && config.Reports["orders"].Timeout > decode.MaxDuration {
			t.Errorf("%s: a timeout of %v", c.edits, config.Reports["orders"].Timeout)
		}
		if !strings.HasPrefix(c.edits, "timeout") {
			continue
		}
		// Without strict_timeout it is a deadline, with a warning.
		config, err = Load("f.yaml", []byte(edit(t, base, "timeout: 2h", c.edits)), testEnvironment(), TestKinds)
		if err != nil || (len(config.Warnings) == 0) != c.ok {
			t.Errorf("%s: %v", c.edits, err)
		} else if !c.ok && !strings.Contains(config.Warnings.Error(), "f.yaml:9:14: reports.orders.timeout: ") {
			t.Errorf("%s: %v", c.edits, config.Warnings)
		}
	}
}
