package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestFilesOfLostAttempts: files of earlier attempts are deleted when a later attempt ends. Files
// that a hung worker writes afterwards are deleted by the next sweep, even if Redis has lost its
// memory meanwhile.
func TestFilesOfLostAttempts(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {recover_after: 1s, lease: 1s}")
	id := s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 2 WHERE id = ?", id)
	if err := os.MkdirAll(s.Dir+"/files/slow", 0o755); err != nil {
		t.Fatal(err)
	}
	one, two := s.Files.Named("slow", id, 1), s.Files.Named("slow", id, 2)
	for _, name := range []string{one, two, two + ".manifest.json", one + ".gz", one + ".gz.manifest.json"} {
		if err := os.WriteFile(s.Dir+"/files/"+name, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Serve(s.File)
	s.Jobs.Push(id)
	v := s.Jobs.Wait(id)[0]
	if s.Files.Content(v); v.Attempt != 3 {
		t.Errorf("%+v", v)
	}
	inSink := func() []string {
		files, _ := filepath.Glob(s.Dir + "/files/slow/[^.]*")
		return files
	}
	s.Eventually("the files of lost attempts are deleted", func() bool { return len(inSink()) == 2 })
	s.Jobs.Idle()
	s.Server.FlushAll()
	if err := os.WriteFile(s.Dir+"/files/"+two+".gz", []byte("late"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Roles.Sweep()
	if files := inSink(); len(files) != 2 {
		t.Errorf("in the sink: %v", files)
	}
	s.Files.Content(v)
}
