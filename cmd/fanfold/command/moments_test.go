package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect/why"
)

// TestMomentsOfListeners: each listener of a job reads its own snapshot, and the manifest says from when it is.
func TestMomentsOfListeners(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  moments:
    listeners:
      before: {database: db, query: "SELECT k, v AS earlier FROM moments"}
      after: {database: db, query: "SELECT k, v AS later FROM moments WHERE k IN (:before.k)"}
    join: {key: k}
`)
	s.Records.Exec("CREATE TABLE moments (k INT PRIMARY KEY, v INT)")
	s.Records.Exec("INSERT INTO moments VALUES (1, 10)")
	s.must("pause listener after", "listener/after")
	s.Serve(s.File)
	id := s.Records.Insert("moments", "")
	s.Jobs.Push(id)
	s.because(id, why.KindPaused, "stage\":2")
	s.Records.Exec("UPDATE moments SET v = 20")
	s.Records.Exec("INSERT INTO moments VALUES (2, 20)")
	changed := time.Now()
	s.must("resume listener after", "listener/after")
	done := s.Jobs.Wait(id)[0]
	if got := s.Files.Content(done); got != "k,earlier,later\r\n1,10,20\r\n" {
		t.Errorf("%q", got)
	}
	text, err := os.ReadFile(strings.TrimPrefix(done.File, "file://") + ".manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Listeners []struct {
			Name string
			AsOf time.Time `json:"as_of"`
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if l := manifest.Listeners; len(l) != 2 || !l[0].AsOf.Before(changed) || !l[1].AsOf.After(changed) {
		t.Errorf("the table changed at %s, and the manifest has %s", changed, text)
	}
}
