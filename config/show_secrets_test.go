package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// sentinel is in every secret of secretFiles.
const sentinel = "s3ntinel-Zq7"

// hashed is a password as htpasswd -B writes it.
const hashed = "$2y$05$s3ntinelZq7s3ntinelZq7s3ntinelZq7s3ntinelZq7s3ntinelZ"

// digested is the digest of a token: it is hidden like the hashes of passwords.
const digested = "5e7ab15e5e7ab15e5e7ab15e5e7ab15e5e7ab15e5e7ab15e5e7ab15e5e7ab15e"

// secretFiles are configurations that together have every secret field. {variable} stands for a variable with the
// sentinel.
var secretFiles = map[string]string{
	"url": `redis: redis://app:{variable}@h:6379/0
databases:
  main: {dsn: "app:{variable}@tcp(h:3306)/x"}
  other: {dsn: "app@tcp(h:3306)/x", password_file: s3ntinel-Zq7}
apis:
  vendor:
    url: https://h/s3ntinel-Zq7
    headers: {Authorization: "Bearer {variable}", X-Key: s3ntinel-Zq7, X-File: {file: s3ntinel-Zq7}}
traces: {url: "https://h/s3ntinel-Zq7", headers: {X-Token: "{variable}"}}
records: {database: main, filter: "note = '{variable}'"}
sink: file:///tmp/x
http: {link_secret: s3ntinel-Zq7-0123456789-0123456789, users: "oncall:` + hashed + `", tokens: "shop:` + digested + `", groups: {oncall: {users: [oncall], may: [see, download, order, operate]}, readers: {users: ["*"], may: [see, download]}}}
reports:
  one:
    description: for {variable}
    notify: {url: "https://h/", secret: whsec_czNudGluZWwtWnE3LXMzbnRpbmVsLVpxNy0wMTIz}
    listeners:
      a: {database: main, query: "SELECT 1 AS id, '{variable}' AS note"}
      b:
        kind: http
        api: vendor
        columns: {id: $.id}
        result:
          method: POST
          path: /x
          query: {api_key: s3ntinel-Zq7, limit: 10}
          json: {client: {client_secret: s3ntinel-Zq7, name: n, tokens: [s3ntinel-Zq7]}}
      c: {kind: external, columns: [id], token: s3ntinel-Zq7-0123456789-0123456789}
    join: {key: id}
timers:
  tell:
    key: tell-{user}
    call: {url: "https://h/s3ntinel-Zq7", headers: {X-Token: s3ntinel-Zq7}, body: "{variable}"}
`,
	"sentinel": `redis:
  sentinel: {master: m, addresses: ["h:1"], password: s3ntinel-Zq7}
  password: "{variable}"
databases: {main: {dsn_file: s3ntinel-Zq7.dsn, replica: "app:{variable}@tcp(r:3306)/x", protect: {replica_lag: 30s}}}
records: {database: main}
sink: {url: s3://reports, access_key: s3ntinel-Zq7, secret_key: "{variable}"}
spool: {url: s3://spool, access_key: s3ntinel-Zq7, secret_key: "{variable}"}
reports: {one: {listeners: {a: {database: main, query: "SELECT 1 AS id"}}}}
`,
}

// TestNoSecretIsShown: what Show returns has no secret, whichever field has it and whether a variable or a file does.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	env := decode.Environment{
		Lookup: func(name string) (string, bool) { return sentinel, name == "SECRET" },
		ReadFile: func(name string) ([]byte, error) {
			if strings.HasSuffix(name, ".dsn") {
				return []byte("app:" + sentinel + "@tcp(h:3306)/x"), nil
			}
			return []byte(sentinel), nil
		},
	}
	masked := map[string]bool{}
	for name, text := range secretFiles {
		view, err := Show("f.yaml", []byte(strings.ReplaceAll(text, "{variable}", "${SECRET}")), env, TestKinds)
		if err != nil {
			t.Fatal(name, err)
		}
		shown, err := view.YAML()
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(view.JSON())
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range [][]byte{shown, asJSON, fmt.Appendf(nil, "%+v", view.Reports)} {
			for _, secret := range []string{sentinel, hashed, "czNudGluZWw"} {
				if bytes.Contains(out, []byte(secret)) {
					t.Errorf("%s: a secret is shown:\n%s", name, out)
				}
			}
		}
		for _, form := range []string{`(\w+): '\*\*\*'`, `(\w+):\n\s+[\w-]+: '\*\*\*'`} {
			for _, m := range regexp.MustCompile(form).FindAllSubmatch(shown, -1) {
				masked[string(m[1])] = true
			}
		}
	}
	for _, field := range secretFields() {
		if !masked[field] {
			t.Errorf("no configuration of the test shows a mask for %s: add a sentinel in it", field)
		}
	}
}

// TestNoPasswordOfAURLIsInAMistake: a URL that is refused for its user is not shown.
func TestNoPasswordOfAURLIsInAMistake(t *testing.T) {
	t.Parallel()
	for url, shown := range map[string]bool{"http://u:pw123@host": false, "http://u:pw123/x@host": false, "http://host/?pw123": true} {
		text := strings.Replace(secretFiles["sentinel"], "s3://reports,", "s3://reports, endpoint: '"+url+"',", 1)
		env := decode.Environment{Lookup: func(string) (string, bool) { return sentinel, true },
			ReadFile: func(string) ([]byte, error) { return []byte("app@tcp(h:3306)/x"), nil }}
		_, err := Show("f.yaml", []byte(text), env, TestKinds)
		if err == nil || !strings.Contains(err.Error(), "sink.endpoint: not a valid HTTP URL") || strings.Contains(err.Error(), "pw123") != shown {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// secretFields returns the names of the secret fields of a configuration and of all kinds.
func secretFields() []string {
	l, names, seen := TestKinds.language(), map[string]bool{}, map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if !l.IsMapping(t) || seen[t] {
			return
		}
		seen[t] = true
		for _, f := range decode.Fields(t) {
			if single := !l.IsMapping(f.Type) && f.Type.Kind() != reflect.Slice; f.Name != "" && single &&
				(f.Is("secret") || f.Type == reflect.TypeFor[report.Secret]()) {
				names[f.Name] = true
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[file]())
	for _, kinds := range l.Kinds {
		for _, k := range kinds {
			if k.Fields != nil {
				walk(reflect.TypeOf(k.Fields()))
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TestShownVariables: a variable that only other values use is filled in, and what is no variable is none when the
// result is read again.
func TestShownVariables(t *testing.T) {
	t.Parallel()
	env := decode.Environment{Lookup: func(name string) (string, bool) {
		value, ok := map[string]string{"DAY": "2024-01-01", "N": "5", "NULL": "null", "ODD": "a: ${b} # c\n d"}[name]
		return value, ok
	}}
	text := `redis: redis://h
databases: {main: {dsn: "root@tcp(h)/x"}}
records: {database: main, filter: "a = '${ODD}$${X} ${Y:-y}'"}
sink: file:///tmp/x
reports:
  one: &one
    retry: 2
    parameters:
      day: {type: date, default: "${DAY}"}
      name: {default: "${NULL}"}
      none: {default: null}
      days: {type: date, list: true, default: ["${DAY}", today]}
    listeners:
      a:
        database: main
        query: "SELECT id, ':x' AS n, 1 AS m FROM a WHERE :day = :name OR :none = 1 OR d IN (:days)"
        optional:
          n: ${N}
          m: "5"
      b: {database: main, query: "SELECT id FROM b", retry: {backoff: exponential}}
    join: {key: id, listeners: [b, {name: a, type: left}]}
    schedule:
      - {every: 1d, parameters: {name: "${NULL}", days: [month-1]}}
      - {cron: "0 9 * * mon", time_zone: Europe/Berlin, catch_up: skip}
  two:
    <<: *one
    label: "two: \"2\""
    description: |
      first

      second ${N}
    retry: {retries: 0, backoff: fixed}
`
	sameAgain(t, "f.yaml", text, env)
	view, err := Show("f.yaml", []byte(text), env, TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := view.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`default: "2024-01-01"`, `default: "null"`, "default: null", "n: 5\n", `m: "5"`, "max_delay: 1h", "second 5", "# schedule:one:", "$${X} y'"} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("no %q:\n%s", want, shown)
		}
	}
	if strings.Contains(string(shown), "&one") || strings.Contains(string(shown), "<<") {
		t.Errorf("an anchor remains:\n%s", shown)
	}
}
