package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// TestGuideToAPISources follows the smallest example in docs/guides/api-sources.md, with another
// server for its file.
func TestGuideToAPISources(t *testing.T) {
	t.Parallel()
	const page = "docs/guides/api-sources.md"
	blocks, dir := fenced(t, page, "sh"), t.TempDir()
	files, serve, _ := strings.Cut(blocks[0], "python3 -m http.server 8000 --directory ")
	c := exec.CommandContext(t.Context(), "sh", "-euc", files)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	api := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, strings.TrimSpace(serve)))))
	t.Cleanup(api.Close)
	apis, reports, _ := strings.Cut(fenced(t, page, "yaml")[0], "reports:\n")
	s := newStack(t, reports, strings.ReplaceAll(apis, "http://127.0.0.1:8000", api.URL))
	s.Serve(s.File)
	commands := strings.Fields(blocks[1] + blocks[2])
	for _, want := range []string{"validate", "doctor"} {
		if out, code := s.fanfold(want); code != exitOK || !slices.Contains(commands, want) {
			t.Errorf("%s: %d %s", want, code, out)
		}
	}
	args := strings.Fields(strings.Split(blocks[2], "\n")[0])[1:]
	file := filepath.Join(dir, args[len(args)-1])
	if out, code := s.fanfold(append(args[:len(args)-1], file)...); code != exitOK {
		t.Fatalf("%s: %d %s", args, code, out)
	}
	if got, want := read(t, file), "user_id,score\r\n1,9.50\r\n2,7\r\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestAnAPI joins an API with a database, also with values that the database returned first. An
// invalid answer fails the job and the error says what is wrong.
func TestAnAPI(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ IDs []int }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("Authorization") != "Bearer secret-7Qx" {
			t.Errorf("%v %v", err, r.Header)
		}
		if r.URL.Path == "/v2/bad" {
			http.Error(w, "no such team: Bearer secret-7Qx", http.StatusNotFound)
			return
		}
		var rows []string
		for _, id := range asked.IDs {
			rows = append(rows, fmt.Sprintf(`{"user": {"id": %d}, "score": -%d.50}`, id, id))
		}
		fmt.Fprintf(w, `{"rows": [%s]}`, strings.Join(rows, ","))
	}))
	t.Cleanup(api.Close)
	s := newStack(t, `
  scores:
    parameters: {team: string}
    listeners:
      users: {database: db, query: "SELECT id, name FROM {schema}.users ORDER BY id"}
      scores:
        kind: http
        api: vendor
        columns: {id: $.user.id, score: $.score}
        result: {method: POST, path: "/:team", json: {ids: ":users.id"}, rows: $.rows}
    join: {key: id}
`, fmt.Sprintf(`apis: {vendor: {url: "%s/v2", headers: {Authorization: Bearer secret-7Qx}}}`, api.URL))
	s.Records.Exec("CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT)")
	s.Records.Exec("INSERT INTO users VALUES (9007199254740993, 'a'), (2, 'b')")
	if out, code := s.fanfold("doctor"); code != exitOK || !strings.Contains(out, "API vendor") || !strings.Contains(out, "it accepts connections") {
		t.Errorf("doctor: %d %s", code, out)
	}
	s.Serve(s.File)
	if got, want := s.Jobs.Succeed("scores", `{"team": "red"}`), "id,name,score\r\n2,b,-2.50\r\n9007199254740993,a,-9007199254740993.50\r\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	v := s.Jobs.Run("scores", `{"team": "bad"}`)
	if want := "listener scores: API vendor: POST /:team: 404 Not Found: no such team: Bearer ***; correct the url of the API, or the path"; v.Status != report.Failed || v.Error != want {
		t.Errorf("%s %q, not %q", v.Status, v.Error, want)
	}
	api.Close()
	out, code := s.fanfold("doctor")
	if code != exitFailure || !strings.Contains(out, "connection refused") {
		t.Errorf("doctor without the API: %d %s", code, out)
	}
}
