package config

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/sink/s3"
)

// TestSpool: a URL is enough, and the kind's own fields stand beside it.
func TestSpool(t *testing.T) {
	t.Parallel()
	load := func(more string) *Config {
		t.Helper()
		c, err := Load("f.yaml", []byte(base+more), testEnvironment(), TestKinds)
		if err != nil {
			t.Fatal(more, err)
		}
		return c
	}
	for _, more := range []string{"", "spool:\n", "spool: {}\n"} {
		if more == "spool: {}\n" {
			if _, err := Load("f.yaml", []byte(base+more), testEnvironment(), TestKinds); err == nil {
				t.Error("a spool without url")
			}
		} else if c := load(more); c.Spool.URL != "" {
			t.Errorf("%q: %+v", more, c.Spool)
		}
	}
	if c := load("spool: file:///var/spool/fanfold/\n"); c.Spool.URL != "file:///var/spool/fanfold" || c.Spool.Above != 1<<20 {
		t.Errorf("%+v", c.Spool)
	}
	c := load("spool: {url: s3://spool, above: 1KB, endpoint: 'https://minio.example', access_key: a, secret_key: b}\n")
	own, ok := c.Spool.Options.(*s3.Options)
	if !ok || own.Endpoint != "https://minio.example" || own.SecretKey.Reveal() != "b" || c.Spool.Above != 1<<10 {
		t.Errorf("%+v %+v", c.Spool, own)
	}
}

// TestSpoolBesideTheSink: a rule that empties the spool must not reach the files of reports.
func TestSpoolBesideTheSink(t *testing.T) {
	t.Parallel()
	for spool, warns := range map[string]bool{
		"gs://reports/exports": true, "gs://reports/exports/": true, "gs://reports": true,
		"gs://reports/exports/spool": false, "gs://reports/exp": false, "gs://reports/exports2": false, "file:///reports": false,
	} {
		c, err := Load("f.yaml", []byte(base+"spool: "+spool+"\n"), testEnvironment(), TestKinds)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Warnings; warns != (len(got) == 1 && strings.HasPrefix(got.Error(), "f.yaml:27:8: spool: the files of reports")) ||
			!warns && got != nil {
			t.Errorf("%s: %v", spool, got)
		}
	}
	const s3 = "spool: {url: s3://reports, %}\n"
	for more, warns := range map[string]bool{"addressing: path": true, "endpoint: 'https://other.example', addressing: path": false} {
		file := edit(t, base, "gs://reports/exports", "{url: s3://reports/exports, addressing: path}") + strings.Replace(s3, "%", more, 1)
		if c, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds); err != nil || (len(c.Warnings) == 1) != warns {
			t.Errorf("%s: %v %v", more, err, c.Warnings)
		}
	}
	// The sink's kind warns about a spool of it, too.
	c, err := Load("f.yaml", []byte(base+"spool: {url: s3://spool, access_key: a}\n"), testEnvironment(), TestKinds)
	if err != nil || !strings.Contains(c.Warnings.Error(), "spool.url: access_key and secret_key need each other") {
		t.Errorf("%v %v", err, c.Warnings)
	}
}
