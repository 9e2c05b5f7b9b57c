package config

import (
	"strings"
	"testing"
)

func TestJobBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 1 << 30, "1048576": 1 << 20, "1024KB": 1 << 20, "20 mb": 20 << 20, "3GB": 3 << 30, "1024GB": 1 << 40, "1099511627776": 1 << 40,
		`"${TASKS}MB"`: 8 << 20,
		"1":            0, "5": 0, "1000": 0, "1048575": 0, "1023KB": 0,
		"0": 0, "0GB": 0, "-1": 0, "1.5GB": 0, "1TB": 0, "GB": 0, "1025GB": 0, "1099511627777": 0, "9999999999999GB": 0,
		"18446744073709551617": 0, "1G": 0, "1B": 0, "1e6": 0,
	} {
		config, err := Load("f.yaml", []byte(edit(t, base, `tasks: "${TASKS}"`, "job_bytes: "+text)), testEnvironment(), TestKinds)
		switch {
		case (err == nil) != (want > 0):
			t.Errorf("%q: %v", text, err)
		case err == nil && config.Limits.JobBytes != want:
			t.Errorf("%q is %d, want %d", text, config.Limits.JobBytes, want)
		}
	}
}

// TestBoundsOfLimits: both ends are allowed, and what is beyond them is refused with
// both.
func TestBoundsOfLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"lease: 1s": "", "lease: 1h": "", "lease: 1ms": "not a duration from 1s to 1h", "lease: 999ms": "not a duration from 1s to 1h",
		"lease: 61m": "not a duration from 1s to 1h", "recover_after: 1s": "", "recover_after: 999ms": "not a duration from 1s to 720h",
		"fold_memory: 64KB": "", "fold_memory: 8GB": "", "fold_memory: 10": "not a size from 64KB to 8GB", "fold_memory: 65535": "not a size from 64KB to 8GB",
		"job_bytes: 1MB": "", "job_bytes: 5": "not a size from 1MB to 1024GB",
	} {
		_, err := Load("f.yaml", []byte(edit(t, base, `tasks: "${TASKS}"`, text)), testEnvironment(), TestKinds)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
	}
}

// TestTasksBeyondConnections: a limit that no listener can reach is a finding, with the arithmetic.
func TestTasksBeyondConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tasks, databases, want string }{
		"not given":   {"", "databases:\n  main: ", ""},
		"as many":     {"tasks: 10", "databases:\n  main: ", ""},
		"too many":    {"tasks: 11", "databases:\n  main: ", "databases.main.max_connections is 10 (value \"11\"). Raise max_connections to 11, or"},
		"for another": {"tasks: 10", "databases:\n  small: {dsn: u@/s, max_connections: 3}\n  main: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := edit(t, edit(t, base, `tasks: "${TASKS}"`, c.tasks), "databases:\n  main: ", c.databases)
			config, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds)
			if err != nil {
				t.Fatal(err)
			}
			if got := config.Warnings; (len(got) == 0) != (c.want == "") ||
				len(got) > 0 && !strings.Contains(got.Error(), c.want) {
				t.Errorf("%v, not %q", got, c.want)
			}
		})
	}
}

func TestCompress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"tasks: 1": false, "redis_compression: off": false, "redis_compression: zstd": true, `redis_compression: "${COMPRESS:-zstd}"`: true} {
		config, err := Load("f.yaml", []byte(edit(t, base, `tasks: "${TASKS}"`, text)), testEnvironment(), TestKinds)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if config.Limits.Compress != want {
			t.Errorf("%s: %t", text, config.Limits.Compress)
		}
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, `""`: true, "${EMPTY}": true, "127.0.0.1:9464": true, "localhost:0": true, "fanfold-1.internal:65535": true, `"[::1]:9464"`: true, "0.0.0.0:80": false, `"[::]:80"`: false, "10.0.0.1:80": false,
		":9464": false, "9464": false, "127.0.0.1": false, "127.0.0.1:": false, "127.0.0.1:65536": false, "127.0.0.1:-1": false, "::1:9464": false,
		"user@host:80": false, "http://host:80": false, "a b:80": false, "unix:/run/x": false,
	} {
		config, err := Load("f.yaml", []byte(base+"admin: "+text+"\n"), testEnvironment(), TestKinds)
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			continue
		}
		want := map[string]string{`""`: "", "${EMPTY}": "", `"[::1]:9464"`: "[::1]:9464"}
		if expected, special := want[text]; special && config.Admin.Listen != expected || !special && config.Admin.Listen != text {
			t.Errorf("%s became %q", text, config.Admin.Listen)
		}
	}
	for text, ok := range map[string]bool{
		"{listen: 0.0.0.0:80, public: true}": true, "{listen: 127.0.0.1:80}": true, "{public: true}": true, "{listen: 0.0.0.0:80}": false,
	} {
		if _, err := Load("f.yaml", []byte(base+"admin: "+text+"\n"), testEnvironment(), TestKinds); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParameterBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 64 << 10, "1KB": 1 << 10, "1024": 1 << 10, "1MB": 1 << 20,
		"1023": 0, "0": 0, "2MB": 0, "1048577": 0, "many": 0,
	} {
		config, err := Load("f.yaml", []byte(edit(t, base, `tasks: "${TASKS}"`, "parameter_bytes: "+text)), testEnvironment(), TestKinds)
		switch {
		case (err == nil) != (want > 0):
			t.Errorf("%q: %v", text, err)
		case err == nil && (config.Limits.ParameterBytes != want || config.Records.ParameterBytes != want):
			t.Errorf("%q is %d and %d, want %d", text, config.Limits.ParameterBytes, config.Records.ParameterBytes, want)
		}
	}
}
