package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestURL: url prints the path of a file in a directory, and the status of a record without a file.
func TestURL(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	pending, cancelled, elsewhere := s.Records.Insert("slow", ""), s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET status = 'CANCELLED' WHERE id = ?", cancelled)
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS', file = 'gs://other/1.csv' WHERE id = ?", elsewhere)
	s.Serve(s.File)
	v := s.Jobs.Run("slow", "")
	path := strings.TrimPrefix(v.File, "file://")
	if out, code := s.fanfold("url", v.ID); code != exitOK || out != path+"\n" {
		t.Errorf("%d %s", code, out)
	}
	out, code := s.fanfold("url", v.ID, "-o", "json")
	var l place
	if err := json.Unmarshal([]byte(out), &l); err != nil || code != exitOK || l != (place{ID: v.ID, Path: path}) {
		t.Errorf("%d %v %s", code, err, out)
	}
	failed := s.Jobs.Run("slow", `{"seconds": "never"}`)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		args []string
		text string
	}{
		{exitFailure, []string{v.ID}, "no such object: " + path},
		{exitFailure, []string{pending}, "is PENDING and has no file yet: fanfold watch " + pending},
		{exitJobFailed, []string{cancelled}, "is CANCELLED and has no file"},
		{exitJobFailed, []string{failed.ID}, "is FAILED and has no file: "},
		{exitFailure, []string{elsewhere}, `has the file "gs://other/1.csv", which is not in file://`},
		{exitNotFound, []string{"99999"}, "99999"},
		{exitUsage, []string{"a/b"}, "is not an id"},
		{exitUsage, []string{v.ID, "--expires", "169h"}, "is not between 1s and 168h"},
		{exitUsage, []string{v.ID, "--expires", "soon"}, "soon"},
	} {
		if out, code := s.fanfold(append([]string{"url"}, c.args...)...); code != c.code || !strings.Contains(out, c.text) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s", c.args, code, c.code, c.text, out)
		}
	}
}
