package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
)

// TestShownIsTheSame: what Show prints is a configuration with the same definitions and schedules, once the secrets
// are in their places again.
func TestShownIsTheSame(t *testing.T) {
	t.Parallel()
	files := map[string]string{"base": base, "http": httpBase, "cluster": strings.Replace(base, "redis: redis://127.0.0.1:6379/0",
		"redis: {cluster: [h:1], password: x, tls: true}", 1)}
	files["locale"] = strings.Replace(base, "    file:\n", "    file:\n      locale: de-CH\n", 1)
	files["timers"] = base + `timers:
  weekly: {key: "weekly-{day}", every: 1w, missed: skip, append: {stream: s, fields: {day: "{day}"}}}
  yearly: {key: "yearly", cron: "0 9 1 1 *", time_zone: Europe/Berlin, submit: {report: orders, parameters: {since: 2024-01-01}}}
  once: {key: "once-{user}", call: {url: "http://h/{user}", method: PUT, headers: {A: b}, body: "{}"}, retry: 3}
`
	for _, pattern := range []string{
		"testdata/good.yaml", "../cmd/fanfold/demo/*.yaml", "../examples/tests/fanfold.yaml", "../examples/tpch/fanfold.yaml",
	} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
	}
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testEnvironment()
			if strings.HasPrefix(name, "..") {
				env = decode.Folder(filepath.Dir(name))
				env.Lookup = exampleVariables
			}
			sameAgain(t, name, text, env)
		})
	}
}

// exampleVariables are those of the demo and the examples; the others have defaults.
func exampleVariables(name string) (string, bool) {
	if strings.HasSuffix(name, "_DSN") {
		return "root@tcp(127.0.0.1:3306)/x", true
	}
	value, ok := map[string]string{
		"DEMO_REDIS": "redis://127.0.0.1:6379/0", "DEMO_SINK": "file:///tmp/demo", "DEMO_SITE": "127.0.0.1:9000",
		"DEMO_VENDOR": "http://127.0.0.1:8080", "DEMO_VENDOR_TOKEN": "token", "DEMO_KEY": strings.Repeat("s", 32),
	}[name]
	return value, ok
}

// sameAgain loads what Show prints of a configuration, with other secrets, and compares the results.
func sameAgain(t *testing.T, name, text string, env decode.Environment) {
	t.Helper()
	was, err := Load(name, []byte(text), env, TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	view, err := Show(name, []byte(text), env, TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := view.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(name, withSecrets(shown), env, TestKinds)
	if err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	for report, r := range was.Reports {
		if got := again.Reports[report].Hash(); got != r.Hash() {
			t.Errorf("%s: hash %s, was %s:\n%s", report, got, r.Hash(), shown)
		}
		if diff := cmp.Diff(r.Timeout, again.Reports[report].Timeout); diff != "" {
			t.Errorf("%s: %s", report, diff)
		}
	}
	var names [2][]string
	for i, c := range []*Config{was, again} {
		for _, timer := range c.Timers {
			names[i] = append(names[i], timer.Key.String())
		}
	}
	if diff := cmp.Diff(names[0], names[1]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(was.Limits, again.Limits) + cmp.Diff(was.Spool, again.Spool) + cmp.Diff(was.Keys, again.Keys) + cmp.Diff(was.Records, again.Records); diff != "" {
		t.Error(diff)
	}
	if twice, err := Show(name, withSecrets(shown), env, TestKinds); err != nil {
		t.Error(err)
	} else if second, err := twice.YAML(); err != nil || string(second) != string(shown) {
		t.Errorf("shown again: %v %s", err, cmp.Diff(string(shown), string(second)))
	}
}

// withSecrets puts secrets into the places of their masks.
func withSecrets(shown []byte) []byte {
	var lines []string
	for line := range strings.Lines(string(shown)) {
		secret := "secret-0123456789-0123456789-0123456789"
		switch field, _, _ := strings.Cut(strings.TrimSpace(line), ":"); field {
		case "url":
			secret = "http://secret.example"
			if len(lines) > 0 && lines[len(lines)-1] == "redis:\n" {
				secret = "redis://secret:6379/0"
			}
		case "dsn":
			secret = "root@tcp(secret:3306)/x"
		case "replica":
			secret = "root@tcp(beside:3306)/x"
		case "file", "password_file":
			secret = "fund.password"
		case "secret":
			secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5"
		}
		lines = append(lines, strings.ReplaceAll(line, "'***'", secret))
	}
	return []byte(strings.ReplaceAll(strings.Join(lines, ""), `"***"`, "secret"))
}

// TestShownFieldsOfALocale: people see what follows from it. The definition stays what the file says.
func TestShownFieldsOfALocale(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		"locale: de": `{"bom":true,"delimiter":";"}`, "locale: en\n      bom: false": `{"bom":false,"delimiter":","}`,
		"bom: true": "null", "format: xlsx": "null",
	} {
		text := strings.Replace(base, "    file:\n", "    file:\n      "+fields+"\n", 1)
		view, err := Show("f.yaml", []byte(text), testEnvironment(), TestKinds)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(report.EncodeBound(view.Reports[0].File)); got != want {
			t.Errorf("%s: %s, want %s", fields, got, want)
		}
		shown, err := view.YAML()
		if comment := "# file: " + want; err != nil || strings.Contains(string(shown), comment) != (want != "null") {
			t.Errorf("%s (%v):\n%s", fields, err, shown)
		}
	}
}

// TestSecretFieldsAreDecided: a field of Fanfold or of a kind with the name of a secret has a tag that says whether
// its value may be shown.
func TestSecretFieldsAreDecided(t *testing.T) {
	t.Parallel()
	l := TestKinds.language()
	if all := append(decode.Undecided(l, reflect.TypeFor[file]()), TestKinds.Undecided()...); len(all) > 0 {
		t.Errorf("neither secret nor open: %s", strings.Join(all, ", "))
	}
	type inner struct {
		Token string            `yaml:"api_token"`
		More  map[string]string `yaml:"headers"`
		Fine  string            `yaml:"password" secret:""`
		Open  []string          `yaml:"key" open:""`
		Flag  bool              `yaml:"header"`
	}
	type outer struct {
		Inner []inner `yaml:"inner"`
	}
	want := []string{"config.outer.inner.api_token", "config.outer.inner.headers"}
	if got := decode.Undecided(l, reflect.TypeFor[outer]()); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
