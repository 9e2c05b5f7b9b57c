package command

import (
	"net/http"
	"strings"
	"testing"
)

// TestAFileOfAnEarlierSink: after the sink has moved, a download of an older record says so, and not
// that it should be tried again.
func TestAFileOfAnEarlierSink(t *testing.T) {
	t.Parallel()
	w := newWaiter(t, `
  weekly: {listeners: {one: {database: db, query: "SELECT 1 AS k"}}}`)
	stop := w.stack.Serve(w.File)
	id := w.Records.Insert("weekly", "")
	w.Jobs.Push(id)
	w.Jobs.Wait(id)
	stop()
	w.Records.Exec("UPDATE file_download_record SET file = REPLACE(file, '/files/', '/earlier/')")
	w.serve()
	link := w.link(id)
	text := w.says(link, "The file can no longer be downloaded")
	if strings.Contains(text, "Ready") || strings.Contains(text, "/file\"") {
		t.Errorf("the page offers the file:\n%s", text)
	}
	if code, text, _ := w.get(link + "/file"); code != http.StatusGone || !strings.Contains(text, "can no longer be downloaded") || strings.Contains(text, "earlier") {
		t.Errorf("%d %s", code, text)
	}
	if code, text, _ := w.get(w.base + "/api/v1/jobs/" + id + "/file"); code != http.StatusConflict || !strings.Contains(text, "which is not in file://") {
		t.Errorf("%d %s", code, text)
	}
}
