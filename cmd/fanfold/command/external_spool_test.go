package command

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// earlyYAML has a report whose external listener is in the first stage.
var earlyYAML = fmt.Sprintf(`
  early:
    retry: {retries: 5, delay: 100ms}
    listeners:
      vendor.scores: {kind: external, columns: [user_id, {name: score, type: decimal}], silence: 5s, token: %[1]q}
      shop.first: {database: db, query: "SELECT user_id AS k FROM users"}
      shop.late:
        after: vendor.scores
        database: db
        query: "SELECT user_id, name FROM users WHERE SLEEP((SELECT seconds FROM slow)) = 0 ORDER BY user_id"
    join: {key: user_id, listeners: [shop.late, vendor.scores]}
    file: {columns: [user_id, name, score]}
  maybe:
    listeners:
      shop.users: {database: db, query: "SELECT user_id, name FROM users"}
      vendor.scores: {kind: external, columns: [user_id, {name: score, type: decimal}], optional: true, token: %[1]q}
    join: {key: user_id, listeners: [shop.users, {name: vendor.scores, type: left}]}
`, tokenOf("vendor.scores"))

// newHanding is newRemote with a spool. It returns the template of URLs that doctor prints.
func newHanding(t *testing.T, users int) (s *stack, r remote, folder, template string) {
	t.Helper()
	folder = t.TempDir()
	s, r = newRemoteOf(t, overHTTP+earlyYAML, users, "spool: file://"+folder)
	out, _ := s.fanfold("doctor")
	found := regexp.MustCompile(`services write segments to (\S+)`).FindStringSubmatch(out)
	if found == nil {
		t.Fatal(out)
	}
	return s, r, folder, found[1]
}

// writes writes a segment of some pages of rows as docs/guides/external-listeners.md shows it, with a Python that knows
// nothing of Fanfold.
func writes(t *testing.T, url string, pages ...string) {
	t.Helper()
	chunks := make([][2][]any, len(pages))
	for i, page := range pages {
		var rows [][2]any
		check(t, json.Unmarshal([]byte(page), &rows))
		for _, row := range rows {
			chunks[i][0], chunks[i][1] = append(chunks[i][0], row[0]), append(chunks[i][1], row[1])
		}
	}
	text, err := json.Marshal(chunks)
	check(t, err)
	path := strings.TrimPrefix(url, "file://")
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	const driver = `
import os, sys
with open(sys.argv[1] + ".part", "wb") as file:
    file.write(segment(json.load(sys.stdin)))
os.rename(sys.argv[1] + ".part", sys.argv[1])
`
	python := exec.CommandContext(t.Context(), "python3", "-c",
		fenced(t, "docs/guides/external-listeners.md", "python")[0]+driver, path)
	python.Stdin = strings.NewReader(string(text))
	if out, err := python.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\napt-get install python3 zstd", err, out)
	}
}

// check ends the test on an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// handIn hands in a segment with a number.
func (r remote) handIn(status int, c claimed, number int, url string) string {
	r.Helper()
	return r.want(status, "PUT", fmt.Sprintf("%s/segments/%d", c.Task, number), fmt.Sprintf(`{"url": %q}`, url))
}

// TestSegmentsOverHTTP: a worker writes them into the spool, and they are deleted with their job.
func TestSegmentsOverHTTP(t *testing.T) {
	t.Parallel()
	s, r, folder, _ := newHanding(t, 12_345)
	id := s.Records.Insert("scored", `{"from": "2024-01-01"}`)
	s.Jobs.Push(id)
	c := r.claim()
	pages := r.pages(c, 5000)
	url := func(number int) string { return fmt.Sprint(c.Segments, number, ".zst") }
	writes(t, url(0), pages[:2]...)
	writes(t, url(1), pages[2])
	if text := r.handIn(409, c, 1, url(1)); !strings.Contains(text, `"expected":0`) {
		t.Error(text)
	}
	r.handIn(204, c, 0, url(0))
	r.handIn(204, c, 0, url(0))
	if text := r.want(409, "POST", c.Task+"/done", `{"pages": 2}`); !strings.Contains(text, `"expected":1`) {
		t.Error(text)
	}
	r.handIn(204, c, 1, url(1))
	state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || state.Tasks["vendor.scores"].Rows != 12_345 || state.Tasks["vendor.scores"].Bytes != 0 || state.Spooled == 0 {
		t.Errorf("%+v %v", state, err)
	}
	r.want(204, "POST", c.Task+"/done", `{"pages": 2}`)
	s.wantScores(s.Jobs.Wait(id)[0])
	s.Eventually("the segments are deleted", func() bool { return len(segments(t, folder, "vendor.scores")) == 0 })

	// One that no dataset lists, of a task that its job does without.
	id = s.Records.Insert("maybe", "{}")
	s.Jobs.Push(id)
	c = r.claim()
	writes(t, c.Segments+"0.zst", `[[1, "no score"]]`)
	if text := r.handIn(422, c, 0, c.Segments+"0.zst"); !strings.Contains(text, `the value \"no score\" is not of type decimal`) {
		t.Error(text)
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Partial {
		t.Errorf("%+v", v)
	}
	s.Eventually("the segment is deleted", func() bool { return len(segments(t, folder, "vendor.scores")) == 0 })
}

// TestSegmentsInTheStream: a service computes their names, as doctor describes them.
func TestSegmentsInTheStream(t *testing.T) {
	t.Parallel()
	s, _, _, template := newHanding(t, 4000)
	id := s.Records.Insert("scored", `{"from": "2024-01-01"}`)
	s.Jobs.Push(id)
	keys, ctx := s.Partitions.First().Keys, t.Context()
	var entry redis.XMessage
	s.Eventually("an entry", func() bool {
		found, err := s.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "c", Streams: []string{keys.Task("vendor.scores"), ">"}}).Result()
		if err == nil && len(found) > 0 {
			entry = found[0].Messages[0]
		}
		return entry.ID != ""
	})
	say := func(kind string, fields ...any) {
		t.Helper()
		check(t, s.Redis.XAdd(ctx, &redis.XAddArgs{Stream: keys.Reply, Values: append([]any{"id", id, "attempt", "1", "listener", "vendor.scores",
			"worker", "w1", "entry", entry.ID, "consumer", "c", "type", kind}, fields...)}).Err())
	}
	url := strings.NewReplacer("<report>", "scored", "<id>", id, "<attempt>", "1", "<listener>", "vendor.scores",
		"<writer>", strings.ReplaceAll(entry.ID, "-", ""), "<number>", "0").Replace(template)
	var rows []string
	for u := range 4000 {
		rows = append(rows, fmt.Sprintf(`[%d,"%.2f"]`, u+1, float64(u+1)*1.5))
	}
	writes(t, url, "["+strings.Join(rows, ",")+"]")
	say("done", "chunks", 1)
	say("rows", "number", 0, "segment", url)
	s.wantScores(s.Jobs.Wait(id)[0])
}

// TestSegmentsThatAreLostLater: the service writes them again while a later stage has run.
func TestSegmentsThatAreLostLater(t *testing.T) {
	t.Parallel()
	s, r, folder, _ := newHanding(t, 3)
	s.Records.Exec("CREATE TABLE slow (seconds INT)")
	s.Records.Exec("INSERT INTO slow VALUES (1)")
	id := s.Records.Insert("early", "{}")
	s.Jobs.Push(id)
	for try := range 2 {
		c := r.claim()
		if c.ID != id || len(c.Values) > 0 {
			t.Errorf("%+v", c)
		}
		writes(t, c.Segments+"0.zst", `[[1,"1.50"],[2,"3.00"],[3,"4.50"]]`)
		r.handIn(204, c, 0, c.Segments+"0.zst")
		r.want(204, "POST", c.Task+"/done", `{"pages": 1}`)
		if try == 0 {
			check(t, os.Remove(segments(t, folder, "vendor.scores")[0]))
		}
	}
	v := s.Jobs.Wait(id)[0]
	if v.Status != report.Success {
		t.Fatalf("%+v", v)
	}
	s.wantScores(v)
}
