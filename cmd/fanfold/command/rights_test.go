package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// limitUser makes a Redis user and returns the configuration of a stack whose processes are this
// user.
func (s *stack) limitUser(rules string) (config string) {
	s.Helper()
	set := append([]any{"acl", "setuser", "app", "reset", "on", ">secret"}, anySlice(strings.Fields(rules))...)
	if err := s.Redis.Do(s.Context(), set...).Err(); err != nil {
		s.Fatal(err)
	}
	where := s.Where
	defer func() { s.Where = where }()
	s.Where = func(int) string { return `{url: "redis://app:secret@` + s.Server.Addr + `/0"}` }
	return s.Write("limited.yaml", e2e.Slow+leavesYAML)
}

// leavesYAML is a report whose jobs leave their rows for later ones.
const leavesYAML = `
  leaves:
    retry: 0
    listeners: {one: {database: db, query: "SELECT 1 AS k", on_failure: {stale: 1h}}}
`

func anySlice(all []string) (given []any) {
	for _, one := range all {
		given = append(given, one)
	}
	return given
}

// TestServeWithoutARight: the usual ACL of a service lacks INFO. Serve says so and does not start.
func TestServeWithoutARight(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	config := s.limitUser("~* &* +@all -@admin -@dangerous")
	out, code := s.fanfold("-c", config, "serve")
	if code != exitUnreachable || !strings.Contains(out, "the Redis user lacks rights: +info: grant them with ACL SETUSER") {
		t.Errorf("%d %s", code, out)
	}
	config = s.limitUser("~* &* +@all -@admin -@dangerous +info")
	log := &testmain.Log{}
	s.File = config
	s.ServeInto(log)
	if v := s.Jobs.Run("slow", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	// A right is lost while processes run: that is no outage.
	if err := s.Redis.Do(t.Context(), "acl", "setuser", "app", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	id := s.Records.Insert("slow", "")
	s.Jobs.Push(id)
	s.Eventually("why names the right", func() bool {
		out, _ := s.fanfold("-c", config, "why", id)
		return strings.Contains(out, "'info' command") && strings.Contains(out, "grant the right") && !strings.Contains(out, "does not answer")
	})
	s.Eventually("the log names the right", func() bool {
		return len(log.Lines("Redis denies a command to its user")) == 1 && len(log.Lines("command=info")) == 1 && len(log.Lines("is down")) == 0
	})
	if err := s.Redis.Do(t.Context(), "acl", "setuser", "app", "+info").Err(); err != nil {
		t.Fatal(err)
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Success {
		t.Errorf("%+v", v)
	}
}

// TestRightsOfTheGuide: jobs run with exactly the rights that the guide gives, and serve checks every
// command of them.
func TestRightsOfTheGuide(t *testing.T) {
	t.Parallel()
	_, rules, _ := strings.Cut(fenced(t, "docs/guides/security.md", "")[0], ">secret ")
	var commands []string
	for rule := range strings.FieldsSeq(rules) {
		if name, ok := strings.CutPrefix(rule, "+"); ok {
			commands = append(commands, name)
		}
	}
	if want := scripts.Needed(); !slices.Equal(commands, want) {
		t.Errorf("the guide has the rights\n%q, but serve checks\n%q", commands, want)
	}
	s := newStackAlone(t, []string{"--notify-keyspace-events", "Kzg$x"}, e2e.Slow)
	s.File = s.limitUser(rules)
	if err := s.Redis.Do(t.Context(), "acl", "log", "reset").Err(); err != nil {
		t.Fatal(err)
	}
	log := &testmain.Log{}
	s.ServeInto(log)
	if v := s.Jobs.Run("slow", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	for range 2 { // the second one replaces what the first one has left
		if v := s.Jobs.Run("leaves", ""); v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
	cancelled, delayed, replied := s.Records.Insert("slow", `{"seconds": 30}`), s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	s.Jobs.Push(cancelled)
	s.Receipts.Push("replies:my", replied)
	if err := s.Redis.ZAdd(t.Context(), "fanfold:delayed", redis.Z{Score: float64(time.Now().Add(time.Second).UnixMilli()), Member: delayed}).Err(); err != nil {
		t.Fatal(err)
	}
	s.Eventually("it runs", func() bool {
		v, err := s.Inspect.Jobs.Get(t.Context(), cancelled)
		return err == nil && v.Started != nil
	})
	for _, args := range [][]string{{"cancel", cancelled}, {"why", cancelled}, {"status", cancelled}, {"pause", "report", "slow"}, {"resume", "report", "slow"}, {"doctor"}} {
		if out, code := s.fanfold(args...); code != exitOK && args[0] != "doctor" || strings.Contains(out, "NOPERM") && args[0] != "doctor" {
			t.Errorf("%q: %d %s", args, code, out)
		}
	}
	s.Jobs.Wait(cancelled, delayed, replied)
	s.Receipts.Wait("replies:my", 1)
	if lines := log.Lines("Redis denies"); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	entries, err := s.Redis.Do(t.Context(), "acl", "log").Slice()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fields := map[any]any{}
		switch e := e.(type) {
		case map[any]any:
			fields = e
		case []any:
			for i := 0; i+1 < len(e); i += 2 {
				fields[e[i]] = e[i+1]
			}
		}
		switch object := fmt.Sprint(fields["object"]); object {
		case "config|get", "config|set": // optional
		default:
			t.Errorf("Redis denied %s (%s %s)", object, fields["reason"], fields["context"])
		}
	}
}

// TestAPusherOfTheGuide: a service with the rights of the guide pushes ids and reads its receipts, and
// nothing else.
func TestAPusherOfTheGuide(t *testing.T) {
	t.Parallel()
	_, rules, _ := strings.Cut(fenced(t, "docs/guides/security.md", "")[1], ">secret ")
	s := newStackAlone(t, nil, e2e.Slow)
	s.limitUser(rules)
	s.Serve(s.File)
	ctx := t.Context()
	client := redis.NewClient(&redis.Options{Addr: s.Server.Addr, Username: "app", Password: "secret", DisableIdentity: true})
	defer client.Close()
	id := s.Records.Insert("slow", "")
	if err := client.XAdd(ctx, &redis.XAddArgs{Stream: "fanfold:jobs", Values: []string{"id", id, "reply_to", "replies:orders"}}).Err(); err != nil {
		t.Fatal(err)
	}
	s.Jobs.Wait(id)
	s.Receipts.Wait("replies:orders", 1)
	if got, err := client.XRead(ctx, &redis.XReadArgs{Streams: []string{"replies:orders", "0-0"}}).Result(); err != nil || len(got[0].Messages) != 2 {
		t.Errorf("%v %v", got, err)
	}
	for what, err := range map[string]error{
		"read pushes":      client.XRead(ctx, &redis.XReadArgs{Streams: []string{"fanfold:jobs", "0-0"}}).Err(),
		"write a receipt":  client.XAdd(ctx, &redis.XAddArgs{Stream: "replies:orders", Values: []string{"a", "b"}}).Err(),
		"read data":        client.HGetAll(ctx, "FileDownloadRecordEntity-"+id).Err(),
		"push for later":   client.ZAdd(ctx, "fanfold:delayed", redis.Z{Member: id}).Err(),
		"write to a reply": client.XAdd(ctx, &redis.XAddArgs{Stream: "fanfold:reply", Values: []string{"a", "b"}}).Err(),
	} {
		if !redis.HasErrorPrefix(err, "NOPERM") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestDownloadsAreLogged: every download is one line that names the record, and never the link.
func TestDownloadsAreLogged(t *testing.T) {
	t.Parallel()
	w := newWaiter(t, e2e.Slow)
	log := &testmain.Log{}
	w.ServeInto(log, strings.TrimPrefix(w.base, "http://"))
	v := w.Jobs.Run("slow", "")
	link := w.link(v.ID)
	w.says(link, "Ready")
	for _, url := range []string{link + "/file", w.base + "/api/v1/jobs/" + v.ID + "/file"} {
		if code, _, _ := w.get(url); code != 200 {
			t.Fatalf("%s: %d", url, code)
		}
	}
	w.Eventually("both are logged", func() bool { return len(log.Lines("msg=download")) == 2 })
	lines := strings.Join(log.Lines("msg=download"), "")
	for _, want := range []string{"user=link", `user=""`, "job=" + v.ID + " file=file://"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %s in %s", want, lines)
		}
	}
	if token := link[len(w.base+"/r/"):]; len(log.Lines(token)) > 0 {
		t.Error("the log has the link")
	}
}

// TestServeWarnsOfEviction: serve says at its start that Redis may delete what it stores.
func TestServeWarnsOfEviction(t *testing.T) {
	t.Parallel()
	for policy, lines := range map[string]int{"allkeys-lru": 1, "noeviction": 0} {
		s := newStackAlone(t, []string{"--maxmemory-policy", policy}, e2e.Slow)
		log := &testmain.Log{}
		s.ServeInto(log)
		s.Eventually("it serves", func() bool { return len(log.Lines("msg=serving")) > 0 })
		if n := len(log.Lines("set maxmemory-policy noeviction")); n != lines {
			t.Errorf("%s: %d lines", policy, n)
		}
	}
}

// TestRotationOfTheGuide: while Redis accepts two passwords, processes with the old and the new one
// work side by side. The old password ends without an outage of those with the new one.
func TestRotationOfTheGuide(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	old := s.limitUser("~* &* +@all")
	text, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	rotated := filepath.Join(s.Dir, "rotated.yaml")
	if err := os.WriteFile(rotated, []byte(strings.Replace(string(text), "app:secret@", "app:new@", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	setUser := func(rule string) {
		t.Helper()
		if err := s.Redis.Do(t.Context(), "acl", "setuser", "app", rule).Err(); err != nil {
			t.Fatal(err)
		}
	}
	stop := s.Serve(old)
	if _, code := s.fanfold("-c", rotated, "dead", "ls"); code != exitUnreachable {
		t.Errorf("a password that nobody has set: %d", code)
	}
	setUser(">new")
	s.Serve(rotated)
	if v := s.Jobs.Run("slow", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	stop()
	setUser("<secret")
	if v := s.Jobs.Run("slow", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	if out, code := s.fanfold("-c", old, "dead", "ls"); code != exitUnreachable || !strings.Contains(out, "WRONGPASS") {
		t.Errorf("the old password: %d %s", code, out)
	}
}
