package config

import (
	"strings"
	"testing"
)

// TestDSNWithoutEffect: what is harmless and has no effect is said, and where.
func TestDSNWithoutEffect(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"?allowAllFiles=true":                 "f.yaml:3:15: databases.main.dsn: the DSN sets allowAllFiles, which has no effect: a server never gets a file of this machine. Remove it",
		"?timeout=10s&allowAllFiles=1":        "f.yaml:3:15: databases.main.dsn: the DSN sets allowAllFiles, which has no effect: a server never gets a file of this machine. Remove it",
		"?allowAllFiles=false&parseTime=true": "",
		"?sql_mode=%27allowAllFiles=true%27":  "",
		"":                                    "",
	} {
		c, err := Load("f.yaml", []byte(strings.Replace(base, "/app\"", "/app"+options+"\"", 1)), testEnvironment(), TestKinds)
		if err != nil {
			t.Fatalf("%s: %v", options, err)
		}
		got := ""
		if len(c.Warnings) > 0 {
			got = c.Warnings.Error()
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", options, got, want)
		}
	}
}

// TestRiskyValues: what works and is rarely meant is said, and where.
func TestRiskyValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{"gs://reports/exports", "file:///", "f.yaml:5:7: sink: the sink is the root directory"},
		{"sink:", "http: {trusted_header: {name: X-User, proxies: [10.0.0.0/8, 0.0.0.0/0]}}\nsink:", "http.trusted_header.proxies: 0.0.0.0/0 is every address"},
		{"sink:", "http: {trusted_header: {name: X-User, proxies: ['::/0']}}\nsink:", "http.trusted_header.proxies: ::/0 is every address"},
	} {
		got, err := Load("f.yaml", []byte(strings.Replace(base, c.old, c.new, 1)), testEnvironment(), TestKinds)
		if err != nil {
			t.Fatalf("%s: %v", c.new, err)
		}
		if len(got.Warnings) != 1 || !strings.Contains(got.Warnings.Error(), c.want) {
			t.Errorf("%s: %v", c.new, got.Warnings)
		}
	}
}
