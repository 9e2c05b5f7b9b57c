package command

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
)

// TestDashboardOfSlots: tasks that wait for a slot of their source are called that, and not running, failed
// or behind one worker.
func TestDashboardOfSlots(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, `databases: {db: {dsn: "{dsn}", parallel: 1}}
limits: {shutdown_timeout: 1s}`)
	_, page := s.browse()
	ids := []string{s.Records.Insert("slow", `{"seconds": 300}`), s.Records.Insert("slow", `{"seconds": 300}`), s.Records.Insert("slow", `{"seconds": 300}`)}
	s.Jobs.Push(ids...)
	has := func(path, words string) {
		t.Helper()
		s.Eventually(path+" has "+words, func() bool {
			_, text := page(path)
			return regexp.MustCompile(words).MatchString(text)
		})
	}
	has("/jobs", `(?s)(class="chip wait"><span class="name">one</span> <span>waits for a slot</span>.*){2}`)
	has("/listeners", `"Running tasks">1( <span class="soft">and [12] wait for a slot</span>)?</td>`)
	waits := ""
	s.Eventually("two jobs wait", func() bool {
		n := 0
		for _, id := range ids {
			if out, _ := s.fanfold("why", id); strings.Contains(out, "It waits for one: it waits for a slot of database db: all 1 that databases.db.parallel allows are taken, by job") &&
				strings.Contains(out, "raise databases.db.parallel") {
				waits = id
				n++
			}
		}
		return n == 2
	})
	has("/jobs/"+waits, `<span class="chip wait">waiting</span>`)
	for range 20 {
		_, text := page("/jobs?view=retrying")
		if !strings.Contains(text, `retrying <span class="count">0</span>`) {
			t.Fatalf("a job that waits for a slot counts as retrying: %s", text)
		}
		if _, text := page("/jobs/" + waits); strings.Contains(text, "is retried") || strings.Contains(text, "next try") {
			t.Fatalf("it was never tried: %s", text)
		}
	}
	// While the database, the workers or the scheduler are late, a task has another reason.
	s.Eventually("list has the two that wait", func() bool {
		out, code := s.fanfold("list", "--why", "no-slot", "-o", "json")
		if code != exitOK {
			t.Fatalf("%d %s", code, out)
		}
		return strings.Count(out, `"why": "It waits for one: it waits for a slot of database db`) == 2
	})
}

// TestDashboardWhileRedisHangs: pages answer soon, say since when they are not up to date, keep their
// counts, and heal.
func TestDashboardWhileRedisHangs(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow, "limits: {shutdown_timeout: 1s}")
	_, page := s.browse()
	id := s.Records.Insert("slow", `{"seconds": 300}`)
	s.Jobs.Push(id)
	counts := regexp.MustCompile(`(all|stuck|retrying|late) <span class="count">\d+</span>`)
	want := `[all <span class="count">1</span> retrying <span class="count">0</span> late <span class="count">0</span> stuck <span class="count">0</span>]`
	s.Eventually("the job runs", func() bool {
		_, text := page("/jobs")
		return fmt.Sprint(counts.FindAllString(text, -1)) == want && strings.Contains(text, "its query has been running")
	})
	s.Server.Freeze()
	t.Cleanup(s.Server.Thaw)
	frozen := time.Now()
	stale := regexp.MustCompile(`This page is not up to date since <time datetime="([^"]*)">`)
	fresh := regexp.MustCompile(`as of <time datetime="([^"]*)">`)
	s.Eventually("the page says since when it is old", func() bool {
		_, text := page("/jobs")
		if got := fmt.Sprint(counts.FindAllString(text, -1)); got != want {
			t.Fatalf("the counts have jumped: %s", got)
		}
		since, asOf := stale.FindStringSubmatch(text), fresh.FindStringSubmatch(text)
		if since == nil {
			return false
		}
		at, err := time.Parse(time.RFC3339, since[1])
		if err != nil || at.After(frozen) || since[1] != asOf[1] {
			t.Fatalf("Redis froze at %s: %s %s", frozen, since[1], asOf[1])
		}
		return true
	})
	began := time.Now()
	_, text := page("/jobs/" + id)
	if took := time.Since(began); took > 10*time.Second || !strings.Contains(text, "Redis does not answer") {
		t.Errorf("after %s: %s", took, text)
	}
	s.Server.Thaw()
	s.Eventually("the pages are up to date again", func() bool {
		_, text := page("/jobs")
		_, one := page("/jobs/" + id)
		return !strings.Contains(text, "not up to date") && !strings.Contains(one, "does not answer")
	})
}

// TestDashboardWhileTheRecordsHang: every page says which server does not answer and since when, shows what Redis has
// as ever, and heals. So it is when the server is stopped.
func TestDashboardWhileTheRecordsHang(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartDatabase(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	db, err := server.Open("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE records"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := newStackAlone(t, nil, e2e.Slow, "limits: {shutdown_timeout: 1s}", fmt.Sprintf(
		"\ndatabases: {db: {dsn: \"{dsn}\"}, records: {dsn: %q}}\nrecords: {database: records}", server.DSN("records")))
	if out, code := s.fanfold("migrate"); code != exitOK {
		t.Fatal(out)
	}
	_, page := s.browse()
	says := regexp.MustCompile(`does not answer since <time datetime="([^"]*)">`)
	for name, c := range map[string]struct{ end, again func() }{
		"frozen": {server.Freeze, server.Thaw},
		"stopped": {server.Stop, func() {
			if err := server.Start(t.Context()); err != nil {
				t.Error(err)
			}
		}},
	} {
		s.Eventually(name+": before, all is well", func() bool { _, text := page("/jobs"); return !says.MatchString(text) })
		began := time.Now().Truncate(time.Second)
		c.end()
		s.Eventually(name+": the page says so", func() bool {
			_, text := page("/jobs")
			found := says.FindStringSubmatch(text)
			if found == nil {
				return false
			}
			if since, err := time.Parse(time.RFC3339, found[1]); err != nil || since.Before(began.Add(-3*time.Second)) || since.After(time.Now()) {
				t.Errorf("%s: since %s, and it was at %s", name, found[1], began)
			}
			return !strings.Contains(text, "not up to date")
		})
		c.again()
		s.Eventually(name+": it heals", func() bool { _, text := page("/jobs"); return !says.MatchString(text) })
	}
}
