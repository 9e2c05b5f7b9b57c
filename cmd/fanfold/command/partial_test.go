package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
)

const partialReports = `
  both:
    retry: 0
    listeners:
      good: {database: db, query: "SELECT seq AS k FROM seq_1_to_3"}
      bad: {database: db, query: "SELECT k, v FROM may_be_there", optional: {v: "none, yet"}}
      after: {database: db, query: "SELECT k, w FROM later WHERE k IN (:bad.k)", optional: true}
    join: {key: k, listeners: [good, bad, {name: after, type: left}]}
`

// TestPartial: if an optional listener fails, the file omits its columns and the record says so.
// Once the listener works again, a retry makes the complete file.
func TestPartial(t *testing.T) {
	t.Parallel()
	s := newStack(t, partialReports)
	s.Records.Exec("CREATE TABLE later (k INT, w INT)")
	s.Records.Exec("INSERT INTO later VALUES (1, 10), (2, 20)")
	s.Serve(s.File)
	v := s.Jobs.Run("both", "")
	if v.Status != report.Partial || !strings.HasPrefix(v.Error, "without listener bad: ") || !strings.Contains(v.Error, "may_be_there' doesn't exist") {
		t.Fatalf("%+v", v)
	}
	b, err := os.ReadFile(strings.TrimPrefix(v.File, "file://"))
	if want := "k,v,w\r\n1,\"none, yet\",\r\n2,\"none, yet\",\r\n3,\"none, yet\",\r\n"; err != nil || string(b) != want {
		t.Errorf("%q %v", b, err)
	}
	var m sink.Manifest
	text, err := os.ReadFile(sink.ManifestName(strings.TrimPrefix(v.File, "file://")))
	if err != nil || json.Unmarshal(text, &m) != nil {
		t.Fatal(err, string(text))
	}
	if bad := m.Listeners[1]; bad.Omitted != "values" || !strings.Contains(bad.Error, "doesn't exist") || m.Listeners[2].Error != "" {
		t.Errorf("%+v", m.Listeners)
	}
	if s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Dead).Val() != 0 {
		t.Error("it is listed as dead")
	}
	for _, c := range []struct{ command, want string }{
		{"list --status partial", v.ID}, {"status " + v.ID, "PARTIAL"}, {"why " + v.ID, "It is done in part"},
	} {
		if out, code := s.fanfold(strings.Fields(c.command)...); code != exitOK || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d %s", c.command, code, out)
		}
	}
	s.Records.Exec("CREATE TABLE may_be_there (k INT, v TEXT)")
	s.Records.Exec("INSERT INTO may_be_there VALUES (1, 'one'), (2, 'two')")
	if out, code := s.fanfold("retry", v.ID, "--wait"); code != exitOK || !strings.Contains(out, "SUCCESS") {
		t.Fatalf("%d %s", code, out)
	}
	whole, err := s.Inspect.Jobs.Get(t.Context(), v.ID)
	if err != nil || s.Files.Content(whole) != "k,v,w\r\n1,one,10\r\n2,two,20\r\n3,,\r\n" || whole.Error != "" {
		t.Errorf("%+v %v", whole, err)
	}
	s.Eventually("the file in part is deleted", func() bool {
		_, err := os.Stat(strings.TrimPrefix(v.File, "file://"))
		return os.IsNotExist(err)
	})
}

// TestPartialThatSilenceMakes: a worker that dies during the task of an optional listener does not
// fail the job either.
func TestPartialThatSilenceMakes(t *testing.T) {
	t.Parallel()
	s := newStack(t, partialReports, "limits: {lease: 1s}")
	s.Records.Exec("CREATE TABLE later (k INT, w INT)")
	s.Records.Exec("CREATE TABLE may_be_there (k INT, v TEXT)")
	s.Records.Exec("INSERT INTO may_be_there VALUES (1, 'one')")
	id := s.Records.Insert("both", "")
	s.Jobs.Push(id)
	// Its one try was read by a worker that is silent since.
	s.process("-c", s.File, "serve", "--roles", "engine")
	ctx, stream := t.Context(), s.Partitions.First().Keys.Task("bad")
	s.Eventually("the job has started", func() bool { return s.Redis.XLen(ctx, stream).Val() == 1 })
	if err := s.Redis.XGroupCreate(ctx, stream, scripts.Group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "w", Streams: []string{stream, ">"}}).Err(); err != nil {
		t.Fatal(err)
	}
	s.Serve(s.File)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Partial || v.Error != "without listener bad: given up after 1 tries: worker fell silent" {
		t.Errorf("%+v", v)
	}
}
