package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// FuzzLoad proves that no file makes Load panic, that each error is decode.Problems
// with places in the file, that the schema takes what Load takes, and that no message shows a variable that a secret uses.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(base))
	if good, err := os.ReadFile("testdata/good.yaml"); err == nil {
		f.Add(good)
	}
	for _, c := range badFiles {
		f.Add([]byte(strings.NewReplacer(c.edits...).Replace(base)))
	}
	f.Add([]byte(httpBase))
	for _, c := range badHTTP {
		f.Add([]byte(strings.NewReplacer(c.edits...).Replace(httpBase)))
	}
	for _, bad := range badTimers {
		f.Add([]byte(base + "timers:\n  x: " + bad + "\n"))
	}
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("reports: {x: &x {listeners: {a: *x, b: *x}, join: *x, file: *x}}\n"))
	f.Add([]byte("reports: &r {<<: *r, x: &x {<<: [*x, {<<: *r}], listeners: {<<: *x, a: {<<: *x}}}}\n"))
	f.Add([]byte(mergeBase))
	for _, c := range badIncludes {
		f.Add([]byte(strings.NewReplacer(c.edits...).Replace(includeBase)))
	}
	f.Add([]byte(includeBase))
	f.Add([]byte("include: [more/*.yaml, '*', more/good.yaml]\n" + base))
	for name := range sqlFiles {
		f.Add([]byte(strings.Replace(base, `query: "SELECT id, name FROM users"`, "query_file: "+name, 1)))
	}
	validate := validator(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := decode.NewReader("f.yaml", testEnvironment(), TestKinds.language())
		fields := new(file)
		config, err := load(fields, r, TestKinds, data)
		if err == nil {
			if err := validate(string(data)); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
			for _, r := range config.Reports {
				proved(t, r)
			}
			shown, err := (&View{File: r.Encode(fields)}).YAML()
			if secrets, _ := r.Uses("USER_DB_PASSWORD"); err != nil ||
				secrets && !strings.Contains(string(data), canary) && strings.Contains(string(shown), canary) {
				t.Errorf("a secret in what is shown, %v:\n%s", err, shown)
			}
			// Without a mask in a report, its definition is the same. Other secrets may need another form.
			_, reports, _ := strings.Cut(string(shown), "\nreports:")
			again, err := Load("f.yaml", withSecrets(shown), testEnvironment(), TestKinds)
			for name, r := range config.Reports {
				if err == nil && !strings.Contains(reports, decode.Mask) && again.Reports[name].Hash() != r.Hash() {
					t.Errorf("%s is another definition, read again:\n%s", name, shown)
				}
			}
			if secrets, others := r.Uses("USER_DB_PASSWORD"); secrets && !others && !strings.Contains(string(data), canary) {
				// It is in secrets alone, which are not printed in any form.
				asJSON, err := json.Marshal(config)
				if shown := fmt.Sprintf("%v %+v %#v %s", config, config, config, asJSON); err != nil || strings.Contains(shown, canary) {
					t.Errorf("a secret in what is printed of a configuration, %v", err)
				}
			}
			return
		}
		var problems decode.Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("no Problems but %v", err)
		}
		for _, p := range problems {
			if p.File != "f.yaml" {
				text, err := testEnvironment().ReadFile(p.File)
				lines := strings.Count(string(text), "\n")
				if err != nil || p.Line < 1 || p.Line > 1+lines || p.Column < 1 || p.Message == "" {
					t.Errorf("no place in a file: %#v", p)
				}
				continue
			}
			if p.Line < 1 || p.Line > 2+strings.Count(string(data), "\n")+strings.Count(string(data), "\r") || p.Column < 1 || p.Message == "" {
				t.Errorf("no place in the file: %#v", p)
			}
		}
		// A variable that no secret uses is no secret.
		if secrets, others := r.Uses("USER_DB_PASSWORD"); others && !secrets {
			return
		}
		if strings.Contains(err.Error(), canary) && !strings.Contains(string(data), canary) {
			t.Errorf("a secret in a message: %v", err)
		}
	})
}

// proved checks what the rest of Fanfold relies on in a report.
func proved(t *testing.T, r *report.Report) {
	t.Helper()
	for _, j := range r.Join.Listeners {
		l, _, ok := r.Listener(j.Listener)
		if !ok || len(j.Keys) != len(r.Join.Keys) {
			t.Fatalf("%s: joined %q with keys %q for %q", r.Name, j.Listener, j.Keys, r.Join.Keys)
		}
		for _, key := range j.Keys {
			if !has(l, key) {
				t.Errorf("%s: %s has no key %q", r.Name, l.Name, key)
			}
		}
	}
	for _, c := range r.File.Columns {
		if l, _, ok := r.Listener(c.Listener); c.Listener != "" && (!ok || !has(l, c.Column)) {
			t.Errorf("%s: no column %q of %q", r.Name, c.Column, c.Listener)
		}
	}
	if _, err := time.LoadLocation(r.File.TimeZone); err != nil || r.File.MaxRows < 0 || r.File.MaxBytes < 0 || len(r.Hash()) != 12 {
		t.Errorf("%s: options of a file that cannot be, %v: %+v", r.Name, err, r.File)
	}
	if o := r.File.Options.(*format.CSVOptions); o.Date.Parse(string(o.Date)) != nil && o.Date != "" || o.Datetime.Parse(string(o.Datetime)) != nil && o.Datetime != "" {
		t.Errorf("%s: options of CSV that cannot be: %+v", r.Name, o)
	}
	for s, stage := range r.Stages {
		for _, l := range stage.Listeners {
			provedRetry(t, l.Retry)
			for _, name := range dialect.QueryOf(&l).Names() {
				if l.From != nil && name == l.From.String() {
					from, at, ok := r.Listener(l.From.Listener)
					if !ok || at > s || !has(from, l.From.Column) {
						t.Errorf("%s: %s has no earlier :%s", r.Name, l.Name, name)
					}
				} else if strings.Contains(name, ".") {
					t.Errorf("%s: %s has :%s unresolved", r.Name, l.Name, name)
				}
			}
		}
	}
	if r.Timeout < r.StagesTime() || r.Timeout > decode.MaxDuration {
		t.Errorf("%s: a timeout of %v for stages of %v", r.Name, r.Timeout, r.StagesTime())
	}
	provedRetry(t, r.Retry)
	if r.Timeout <= 0 || len(r.File.Columns) == 0 || (len(r.Join.Listeners) == 0 && r.Fold == "") {
		t.Errorf("%s: incomplete: %+v", r.Name, r)
	}
}

func provedRetry(t *testing.T, r report.Retry) {
	t.Helper()
	if r.Retries < 0 || r.Retries > 100 || r.Delay <= 0 || r.Exponential && r.MaxDelay < r.Delay || r.Total() < 0 {
		t.Errorf("a retry that cannot be: %+v", r)
	}
}

func has(l *report.Listener, column string) bool {
	for _, c := range l.Columns {
		if c == column {
			return true
		}
	}
	return false
}
