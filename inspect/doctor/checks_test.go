package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/installation"
	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

// examined returns the findings of an installation, by their names, after a change of its connections.
func examined(t *testing.T, change func(*installation.Installation, *inspect.Options)) map[string]Finding {
	t.Helper()
	i := installation.New(t, "")
	_, err := record.MigrateTables(t.Context(), i.DB, i.Config.Records.Table)
	i.OK(err)
	c := i.Config
	of := inspect.Config{
		Redis: c.Redis, Reports: c.Reports, Timers: c.Timers, Limits: c.Limits, Records: c.Records, Sources: c.Sources,
	}
	o := inspect.Options{Config: of, Scripts: i.Scripts, Records: i.Records}
	change(i, &o)
	found, spool := map[string]Finding{}, t.TempDir()
	for _, f := range Examine(t.Context(), Options{
		Options: o, Settings: c.Sources, Sink: c.Sink.URL, Formats: kinds.Standard().Formats,
		OpenSink: func(context.Context) (sink.Sink, error) {
			return dir.New(strings.TrimPrefix(string(c.Sink.URL), "file://"))
		},
		Spool:     report.SinkURL("file://" + spool),
		OpenSpool: func(context.Context) (sink.Sink, error) { return dir.New(spool) },
	}) {
		found[f.Check] = f
	}
	return found
}

// TestEveryCheckHasAFinding, under its name, if nothing is wrong.
func TestEveryCheckHasAFinding(t *testing.T) {
	t.Parallel()
	found := examined(t, func(*installation.Installation, *inspect.Options) {})
	for _, c := range checks {
		switch c.name {
		case "redis", "redis partitions", "streams", "sources": // their findings are named for what they checked
			continue
		}
		ok := false
		for name, f := range found {
			if name == c.name || strings.HasPrefix(name, c.name+" ") {
				ok = ok || f.Result == Pass
			}
		}
		if !ok {
			t.Errorf("%s: %+v", c.name, found[c.name])
		}
	}
}

// TestChecksNeedEarlierOnes: a check that needs one that is made later would never be left out.
func TestChecksNeedEarlierOnes(t *testing.T) {
	t.Parallel()
	made := []string{database} // by sources
	for _, c := range checks {
		for _, name := range c.needs {
			if !slices.Contains(made, name) {
				t.Errorf("%s needs %s, which is not made before it", c.name, name)
			}
		}
		if slices.Contains(made, c.name) {
			t.Errorf("%s stands twice", c.name)
		}
		made = append(made, c.name)
	}
}

// TestWithoutRedis leaves out what only a Redis can answer, and checks the rest.
func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	found := examined(t, func(i *installation.Installation, o *inspect.Options) {
		away := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
		t.Cleanup(func() { _ = away.Close() })
		o.Scripts = scripts.Partitions{scripts.New(scripts.Options{Redis: away, Keys: i.Config.Keys})}
	})
	if found["redis"].Result != Fail || found["records"].Result != Pass || found["scratch files"].Result != Pass {
		t.Errorf("%+v", found)
	}
	for _, name := range []string{"redis scripts", "pauses", "quarantine", "timers"} {
		if f, ok := found[name]; ok {
			t.Errorf("%+v", f)
		}
	}
	if !strings.Contains(found["redis"].Hint, "not checked because of this: redis scripts, pauses, ") {
		t.Errorf("%+v", found["redis"])
	}
	for name, f := range found {
		if name != "redis" && strings.Contains(f.Detail, "127.0.0.1:1") {
			t.Errorf("the error is repeated: %+v", f)
		}
	}
}

// TestWithoutTheTable leaves out what is about records.
func TestWithoutTheTable(t *testing.T) {
	t.Parallel()
	found := examined(t, func(i *installation.Installation, _ *inspect.Options) {
		i.Exec("DROP TABLE " + i.Config.Records.Table)
	})
	if found["records"].Result != Fail || found["quarantine"].Result != Pass {
		t.Errorf("%+v", found)
	}
	if f, ok := found["file column"]; ok || !strings.Contains(found["records"].Hint, "file column") {
		t.Errorf("%+v, %+v", f, found["records"])
	}
}

// TestOneServerOfSeveralDatabases: that it cannot be reached is said once, with what is not checked.
func TestOneServerOfSeveralDatabases(t *testing.T) {
	t.Parallel()
	listener := func(source string) report.Stage {
		return report.Stage{Listeners: []report.Listener{{Name: "of " + source, Source: source}}}
	}
	of := inspect.Config{Reports: map[string]*report.Report{"r": {Name: "r", Stages: []report.Stage{listener("a"), listener("b")}}}}
	words := report.Words{Noun: "database"}
	d := &doctor{Options: Options{
		Options:  inspect.Options{Config: of, Sources: inspect.Sources{"a": away{port: 1}, "b": away{port: 1}, "c": away{port: 2}}},
		Settings: map[string]report.Source{"a": {Words: words}, "b": {Words: words}, "c": {Words: words}},
	}}
	want := Findings{
		{"database a", Fail, "server: dial tcp 127.0.0.1:1: refused", "not checked because of this: 1 query"},
		{"database b", Fail, "the server cannot be reached, as for database a", "correct that first; not checked because of this: 1 query"},
		{"database c", Fail, "server: dial tcp 127.0.0.1:2: refused", ""},
	}
	if diff := cmp.Diff(want, checkSources(t.Context(), d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// away is a database whose server does not answer.
type away struct {
	inspect.Source
	Database
	port int
}

// Server implements Database.
func (a away) Server(context.Context) (version string, clock time.Time, zone string, err error) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: a.port}
	err = &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: errors.New("refused")}
	return "", time.Time{}, "", fmt.Errorf("server: %w", err)
}
