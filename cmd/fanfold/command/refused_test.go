package command

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/report"
)

// TestADatabaseThatRefusesTheLogin: a refused login is not an outage: it uses tries, and every
// message about it says what to correct.
func TestADatabaseThatRefusesTheLogin(t *testing.T) {
	t.Parallel()
	const more = `limits: {lease: 1s}
databases: {db: {dsn: "{dsn}"}, locked: {dsn: "nobody:topsecret@{address}"}, nowhere: {dsn: "{server}/no_such_schema"}}`
	define := func(name, database, delay string) string {
		return `
  ` + name + `: {timeout: 3h, retry: {retries: 1, delay: ` + delay + `}, listeners: {l.` + name + `: {database: ` + database + `, query: "SELECT 1 AS k"}}}`
	}
	reports := define("soon", "locked", "100ms") + define("missing", "nowhere", "100ms") + define("late", "locked", "1h")
	s := newStack(t, e2e.Slow)
	dsn := s.Config.Databases["db"].DSN.Reveal()
	_, address, _ := strings.Cut(dsn, "@")
	server := dsn[:strings.LastIndex(dsn, "/")]
	s.File = s.Write("locked.yaml", reports, strings.NewReplacer("{address}", address, "{server}", server).Replace(more))
	c := command("-c", s.File, "serve")
	var log written
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	s.Eventually("serve says so at its start", func() bool {
		return strings.Contains(log.String(), "correct the DSN of database locked") && strings.Contains(log.String(), "correct the DSN of database nowhere")
	})
	soon, missing, late := s.Records.Insert("soon", ""), s.Records.Insert("missing", ""), s.Records.Insert("late", "")
	s.Jobs.Push(soon, missing, late)
	for id, database := range map[string]string{soon: "locked", missing: "nowhere"} {
		if v := s.Jobs.Wait(id)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "correct the DSN of database "+database) || !strings.Contains(v.Error, "(try 2 of 2)") || strings.Contains(v.Error, "topsecret") {
			t.Errorf("%+v", v)
		}
	}
	v := s.because(late, why.KindSourceRefuses, "correct the DSN of database locked", "1045")
	if strings.Contains(v.Summary, "does not answer") || len(v.Remedies) == 0 || strings.Contains(v.Remedies[0], "delay run") {
		t.Errorf("%+v", v)
	}
	if all := log.String(); strings.Contains(all, "topsecret") {
		t.Errorf("%s", all)
	}
}
