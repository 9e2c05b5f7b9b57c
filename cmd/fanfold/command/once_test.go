package command

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestOnceIsShownEverywhere: command line, API, dashboard and waiting page say with which job a record shares its file,
// while it waits and afterwards; and a record gets no file that it does not share.
func TestOnceIsShownEverywhere(t *testing.T) {
	t.Parallel()
	w := newWaiter(t, e2e.Who+"    once: {per: [report, parameters]}\n")
	leader, other := w.Records.Insert("who", e2e.WhoParameters("a", 3)), w.Records.Insert("who", e2e.WhoParameters("a", 3))
	w.serve()
	w.Jobs.Push(leader)
	w.States.Taken(leader)
	w.Jobs.Push(other)
	w.Eventually("it waits", func() bool { return len(w.Jobs.Events("shares")) == 1 })
	api := func(id string) (v struct {
		SharedWith string `json:"shared_with"`
		Status     string
	}) {
		t.Helper()
		_, text, _ := w.get(w.base + "/api/v1/jobs/" + id)
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Error(text, err)
		}
		return v
	}
	shown := func() {
		t.Helper()
		if v := api(other); v.SharedWith != leader {
			t.Errorf("API: %+v", v)
		}
		if v := api(leader); v.SharedWith != "" {
			t.Errorf("API of the leader: %+v", v)
		}
		if out, _ := w.fanfold("status", other); !strings.Contains(out, "shared with") {
			t.Error(out)
		}
		if _, text, _ := w.get(w.base + "/jobs/" + other); !strings.Contains(text, "Shares the file of") {
			t.Error(text)
		}
	}
	if out, _ := w.fanfold("why", other); !strings.Contains(out, "It waits for the file of job "+leader) ||
		!strings.Contains(out, "fanfold why "+leader) {
		t.Error(out)
	}
	w.says(w.link(other), "The same report is already being made. You get its file.")
	shown()
	w.Jobs.Wait(leader, other)
	shown()
	code, text, header := w.get(w.base + "/api/v1/jobs/" + other + "/file")
	if code != http.StatusOK || text != e2e.WhoFile("a") || header.Get("ETag") == "" {
		t.Errorf("%d %q %v", code, text, header)
	}
	// The groups cannot be read, as while the first partition is away: everybody still says what they know.
	pending := w.Records.Insert("who", e2e.WhoParameters("c", 0))
	w.Redis.Set(t.Context(), w.Partitions.First().Keys.Once, "not a hash", 0)
	if out, _ := w.fanfold("status", pending); !strings.Contains(out, "PENDING") || !strings.Contains(out, "whether an equal job makes its file: ") {
		t.Error(out)
	}
	if out, _ := w.fanfold("why", pending); !strings.Contains(out, "its id was not pushed") || !strings.Contains(out, "Whether an equal job makes its file cannot be read: ") {
		t.Error(out)
	}
	w.Redis.Del(t.Context(), w.Partitions.First().Keys.Once)
	// Somebody lets a record point to a file that it does not share.
	stranger := w.Records.Insert("who", e2e.WhoParameters("b", 0))
	w.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS', attempt = 1, file = (SELECT file FROM (SELECT file FROM file_download_record WHERE id = ?) AS f) WHERE id = ?", leader, stranger)
	if code, text, _ := w.get(w.base + "/api/v1/jobs/" + stranger + "/file"); code == http.StatusOK || strings.Contains(text, "who,v") {
		t.Errorf("%d %q", code, text)
	}
}
