package command

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkOfAnotherInstallation: two installations with the same http.link_secret and default keys, such as
// production and a copy of its configuration. A link of one shows nothing of the other, which has a
// record with the same id.
func TestLinkOfAnotherInstallation(t *testing.T) {
	t.Parallel()
	report := `
  weekly: {listeners: {one: {database: db, query: "SELECT 1 AS k"}}}`
	here, there := newWaiter(t, report), newWaiter(t, report)
	id, same := here.Records.Insert("weekly", ""), there.Records.Insert("weekly", "")
	if id != same {
		t.Fatalf("the records are %s and %s", id, same)
	}
	here.serve()
	here.Jobs.Push(id)
	here.Jobs.Wait(id)
	here.says(here.link(id), "Ready", "Download")
	foreign := here.base + strings.TrimPrefix(there.link(same), there.base)
	for _, path := range []string{"", "/file", "/live"} {
		if code, text, _ := here.get(foreign + path); code != http.StatusNotFound || strings.Contains(text, "weekly") {
			t.Errorf("%q: %d %s", path, code, text)
		}
	}
}

// TestLinkOfAReplacedRecord: a link shows its own record, and not a later one with the same id.
func TestLinkOfAReplacedRecord(t *testing.T) {
	t.Parallel()
	w := newWaiter(t, `
  weekly:
    parameters: {of: {type: string, default: ""}}
    listeners: {one: {database: db, query: "SELECT :of AS k"}}`)
	w.serve()
	for _, c := range []struct {
		what    string
		replace func(id string)
	}{
		{"deleted and inserted again", func(id string) {
			w.Records.Exec("DELETE FROM file_download_record WHERE id = ?", id)
			w.Records.Exec("INSERT INTO file_download_record (id, report, parameters) VALUES (?, 'weekly', '{\"of\": \"ann\"}')", id)
		}},
		{"the ids are reused", func(id string) {
			w.Records.Exec("TRUNCATE file_download_record")
			w.Records.Exec("INSERT INTO file_download_record (id, report, parameters) VALUES (?, 'weekly', '{\"of\": \"ben\"}')", id)
		}},
	} {
		id := w.Records.Insert("weekly", `{"of": "ann"}`)
		old := w.link(id)
		w.Jobs.Push(id)
		w.Jobs.Wait(id)
		w.says(old, "Ready", "Download")
		c.replace(id)
		w.Jobs.Push(id)
		w.Jobs.Wait(id)
		w.says(w.link(id), "Ready", "Download")
		text := w.says(old, "No longer available")
		if strings.Contains(text, "Download") || strings.Contains(text, "<dt>Rows</dt>") {
			t.Errorf("%s: the old link shows the new record:\n%s", c.what, text)
		}
		if code, text, header := w.get(old + "/file"); code != http.StatusSeeOther || header.Get("Content-Disposition") != "" || text != "" {
			t.Errorf("%s: the old link downloads the new file: %d %q", c.what, code, text)
		}
	}
}

// TestLinkToAFileThatIsALink: if the file of a record is replaced by a symbolic link, or its folder
// is, no one downloads what the link points to.
func TestLinkToAFileThatIsALink(t *testing.T) {
	t.Parallel()
	w := newWaiter(t, `
  weekly: {listeners: {one: {database: db, query: "SELECT 1 AS k"}}}`)
	w.serve()
	secret := t.TempDir()
	for what, replace := range map[string]func(file string) error{
		"a file": func(file string) error {
			text := filepath.Join(secret, "file")
			return errors.Join(os.WriteFile(text, []byte("secret"), 0o600), os.Remove(file), os.Symlink(text, file))
		},
		"a folder": func(file string) error {
			folder := filepath.Dir(file)
			return errors.Join(os.WriteFile(filepath.Join(secret, filepath.Base(file)), []byte("secret"), 0o600), os.Rename(folder, folder+"-old"), os.Symlink(secret, folder))
		},
	} {
		id := w.Records.Insert("weekly", "")
		w.Jobs.Push(id)
		v := w.Jobs.Wait(id)[0]
		link := w.link(id)
		w.says(link, "Ready")
		file := strings.TrimPrefix(v.File, "file://")
		if err := replace(file); err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{link + "/file", w.base + "/api/v1/jobs/" + id + "/file"} {
			if code, text, _ := w.get(url); code < 400 || strings.Contains(text, "secret") {
				t.Errorf("%s: %s: %d %s", what, url, code, text)
			}
		}
		if out, code := w.fanfold("url", id); code == exitOK || !strings.Contains(out, "symbolic link") {
			t.Errorf("%s: %d %s", what, code, out)
		}
		if what == "a folder" {
			if err := errors.Join(os.Remove(filepath.Dir(file)), os.Rename(filepath.Dir(file)+"-old", filepath.Dir(file))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
