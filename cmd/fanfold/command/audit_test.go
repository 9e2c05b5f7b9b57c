package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/audit"
)

// changingCommands are those that change what processes do or records are, with an example and the act that it is.
// {id}, {entry} and {timer} are those of the test.
var changingCommands = map[string][2]string{
	"adopt":              {"adopt {id}", "adopt {id} refused"},
	"cancel":             {"cancel {id} --reason late", "cancel {id} done"},
	"dead discard":       {"dead discard 404", "discard 404 refused"},
	"delay by":           {"delay by 1h 404", "delay 404 refused"},
	"delay rm":           {"delay rm 7", "delay rm 7 done"},
	"delay run":          {"delay run 8", "delay run 8 done"},
	"limit source":       {"limit source db 2 --for 1h", "limit source/db done"},
	"limit report":       {"limit report slow reset", "reset limit report/slow done"},
	"pause listener":     {"pause listener one", "pause listener/one done"},
	"pause report":       {"pause report none", "pause report/none refused"},
	"pause source":       {"pause source db --for 1h", "pause source/db done"},
	"quarantine requeue": {"quarantine requeue {entry}", "quarantine requeue {entry} refused"},
	"quarantine rm":      {"quarantine rm {entry}", "quarantine rm {entry} done"},
	"resume listener":    {"resume listener one", "resume listener/one done"},
	"resume source":      {"resume source db", "resume source/db done"},
	"resume report":      {"resume report slow", "resume report/slow done"},
	"retry":              {"retry 404", "retry 404 refused"},
	"run":                {"run slow", "run {new} done"},
	"submit":             {"submit {id}", "submit {id} done"},
	"timer fire":         {"timer fire beep-1", "timer fire beep-1 done"},
	"timer pause":        {"timer pause beep-1", "timer pause beep-1 done"},
	"timer resume":       {"timer resume beep-1", "timer resume beep-1 done"},
	"timer rm":           {"timer rm beep-1", "timer rm beep-1 done"},
	"timer set":          {"timer set beep-1 --in 1h", "timer set beep-1 done"},
}

// otherCommands are those that only read, that set up an installation while none of its processes runs, or that make
// processes, whose acts are those of their users.
var otherCommands = []string{"audit", "config show", "dead ls", "delay ls", "demo", "doctor", "explain",
	"floods", "init", "list", "migrate", "limit ls", "pause ls", "quarantine ls", "quarantine show", "repartition", "serve",
	"status", "test", "timer ls", "top", "url", "user hash", "user token", "validate", "version", "watch", "why"}

// TestEveryCommandIsAudited: every command that changes something has an entry, with the user and the host. A new
// command must be in one of the lists.
func TestEveryCommandIsAudited(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command) (all []string)
	walk = func(c *cobra.Command) (all []string) {
		if !c.HasSubCommands() {
			all = append(all, strings.TrimPrefix(c.CommandPath(), "fanfold "))
		}
		for _, sub := range c.Commands() {
			all = append(all, walk(sub)...)
		}
		return all
	}
	all := walk(newRoot(kinds.Standard()))
	if len(all) != len(changingCommands)+len(otherCommands) {
		t.Errorf("%q", all)
	}
	for _, name := range all {
		if _, ok := changingCommands[name]; !ok && !slices.Contains(otherCommands, name) {
			t.Errorf("is %q a change?", name)
		}
	}
	s := newStack(t, e2e.Slow, `timers: {beep: {key: "beep-{x}", append: {stream: messages, fields: {x: "{x}"}}}}`)
	id, keys := s.Records.Insert("slow", ""), s.Partitions.First().Keys
	s.Redis.ZAdd(t.Context(), keys.Delayed, redis.Z{Score: 4e12, Member: "7"}, redis.Z{Score: 4e12, Member: "8"})
	entry := s.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.Quarantined, Values: []string{"stream", "x", "reason", "y"}}).Val()
	order := []string{"submit", "adopt", "cancel", "timer set", "timer pause", "timer resume", "timer rm", "timer fire"}
	for name := range changingCommands {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	slices.Sort(order[8:]) // requeue is before rm
	host, _ := os.Hostname()
	for _, name := range order {
		made := func(text string) string { return strings.NewReplacer("{id}", id, "{entry}", entry).Replace(text) }
		args, want := strings.Fields(made(changingCommands[name][0])), made(changingCommands[name][1])
		said, _ := s.fanfold(args...)
		want = strings.Replace(want, "{new}", strings.TrimSpace(said), 1)
		var acts []audit.Act
		out, code := s.fanfold("audit", "--limit", "1", "--who", "*@"+host, "-o", "json")
		if err := json.Unmarshal([]byte(out), &acts); err != nil || code != exitOK || len(acts) != 1 {
			t.Fatalf("%v: %v %s", args, err, out)
		}
		a := acts[0]
		if got := fmt.Sprintf("%s %s %s", a.Act, a.On, a.Answer); got != want || a.By != "command" || a.N != 1 {
			t.Errorf("%v: %q, not %q: %+v: %s", args, got, want, a, said)
		}
	}
	if out, _ := s.fanfold("audit", "--id", id, "--act", "can*", "--since", "1h"); strings.Count(out, "\n") != 2 ||
		!strings.Contains(out, "late") {
		t.Error(out)
	}
}

// TestFacesAreAudited: what a browser and a client of the API do is in the audit, and fanfold audit shows it.
func TestFacesAreAudited(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	base, _ := s.browse()
	b := browser{s: s, base: base}
	b.does("/reports/slow/pause", http.StatusOK, "is paused")
	id := s.Records.Insert("slow", "")
	if code, text := b.send("POST", "/api/v1/jobs/"+id+"/cancel"); code != http.StatusOK {
		t.Fatal(text)
	}
	var acts []audit.Act
	out, _ := s.fanfold("audit", "-o", "json")
	if err := json.Unmarshal([]byte(out), &acts); err != nil || len(acts) != 2 {
		t.Fatalf("%v %s", err, out)
	}
	for _, command := range []string{"why", "status"} {
		if out, _ := s.fanfold(command, id); !strings.Contains(out, "ago: cancel by api, 127.0.0.1: done (cancelled over HTTP)") {
			t.Errorf("%s: %s", command, out)
		}
	}
	for path, want := range map[string]string{
		"/audit":                         `"On">report/slow</td>`,
		"/audit?act=cancel&id=" + id:     `"On">` + id + "</td>",
		"/audit?before=" + acts[0].Entry: `"On">report/slow</td>`,
		"/audit?before=" + acts[1].Entry: "No acts match.",
		"/audit?who=ann":                 "No acts match.",
		"/jobs/" + id:                    `"Act">cancel</td>`,
	} {
		if code, text := b.send("GET", path); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	for i, want := range []string{"cancel " + id + " api 127.0.0.1", "pause report/slow dashboard 127.0.0.1"} {
		if a := acts[i]; fmt.Sprint(a.Act, " ", a.On, " ", a.By, " ", a.From) != want || a.When.IsZero() {
			t.Errorf("%+v", a)
		}
	}
}

// TestOldActs: what Redis has forgotten is listed from the database, after what it has, and without it, what Redis has.
func TestOldActs(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	id, stream := s.Records.Insert("slow", ""), s.Partitions.First().Keys.Audit
	for _, args := range []string{"pause report slow", "cancel " + id, "resume report slow"} {
		if out, code := s.fanfold(strings.Fields(args)...); code != exitOK {
			t.Fatal(out)
		}
	}
	base, page := s.browse()
	s.Eventually("the acts are stored", func() bool { return s.Records.Number("SELECT COUNT(*) FROM fanfold_audit") == 3 })
	s.Redis.XDel(t.Context(), stream, s.Redis.XRange(t.Context(), stream, "-", "+").Val()[1].ID)
	listed := func(args ...string) (names []string, out string, code int) {
		t.Helper()
		out, code = s.fanfold(append([]string{"audit", "-o", "json"}, args...)...)
		var acts []audit.Act
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&acts); err != nil {
			t.Fatal(out)
		}
		for _, a := range acts {
			if names = append(names, a.Act); a.When.IsZero() || a.N != 1 || a.Answer != audit.Done || a.By != audit.Command {
				t.Errorf("%+v", a)
			}
		}
		return names, out, code
	}
	lists := func(args string, want ...string) {
		t.Helper()
		if got, out, code := listed(strings.Fields(args)...); code != exitOK || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q: %s", args, got, want, out)
		}
	}
	host, _ := os.Hostname()
	lists("", "resume", "cancel", "pause")
	s.Redis.XTrimMaxLen(t.Context(), stream, 1)
	lists("", "resume", "cancel", "pause")
	lists("--limit 2", "resume", "cancel")
	lists("--act *a*e* --who *@"+host, "cancel", "pause")
	lists("--id "+id, "cancel")
	lists("--id slow", "resume", "pause")
	lists("--id report/slow", "resume", "pause")
	lists("--id low")
	lists("--since 1h", "resume", "cancel", "pause")
	lists("--who nobody")
	if out, _ := s.fanfold("why", id); !strings.Contains(out, ": cancel by ") {
		t.Error(out)
	}
	for path, want := range map[string]string{"/audit": `"Act">pause</td>`, "/audit?id=" + id: `"Act">cancel</td>`, "/jobs/" + id: `"Act">cancel</td>`} {
		if code, text := page(path); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := s.call("GET", base+"/api/v1/audit?act=pause", ""); code != http.StatusOK || strings.Count(text, `"act":"pause"`) != 1 {
		t.Errorf("%d %s", code, text)
	}
	s.Redis.Del(t.Context(), stream)
	lists("--since 1h", "resume", "cancel", "pause")
	s.fanfold("pause", "source", "db")
	lists("", "pause", "resume", "cancel", "pause")
	// A table that cannot be read hides no newer acts.
	s.Records.Exec("ALTER TABLE fanfold_audit DROP COLUMN detail")
	if got, out, code := listed(); code == exitOK || !slices.Equal(got, []string{"pause"}) {
		t.Errorf("%q, %d %s", got, code, out)
	}
	if code, text := s.call("GET", base+"/api/v1/audit", ""); code != http.StatusOK || strings.Count(text, `"act":`) != 1 {
		t.Errorf("%d %s", code, text)
	}
	if code, text := page("/audit"); code != http.StatusOK || !strings.Contains(text, "source/db") || !strings.Contains(text, "acts in the database: table") {
		t.Errorf("%d %s", code, text)
	}
	s.Records.Exec("DROP TABLE fanfold_audit")
	lists("", "pause")
	if f := s.finding("audit"); f.Result != doctor.Warn || !strings.Contains(f.Hint, "fanfold migrate") {
		t.Errorf("%+v", f)
	}
	s.Records.Exec("DELETE FROM fanfold_migrations")
	if out, code := s.fanfold("migrate"); code != exitOK {
		t.Fatal(out)
	}
	if f := s.finding("audit"); f.Result != doctor.Pass || !strings.Contains(f.Detail, "2160h") {
		t.Errorf("%+v", f)
	}
	s.Eventually("the act after the loss is stored", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM fanfold_audit WHERE target = 'source/db'") == 1
	})
}
