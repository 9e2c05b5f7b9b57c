package fanin_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// TestTamperedWhilePublishing: the parameters of a job are overwritten between its file and its
// record. It fails, and its file is removed.
func TestTamperedWhilePublishing(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {recover_after: 1s, lease: 1s}")
	id := s.States.Ready()
	s.States.Publish(id, "gone")
	s.Redis.HSet(t.Context(), s.Partitions.First().Keys.Job(id), "parameters", "{no JSON")
	s.Serve(s.File)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "is not JSON") {
		t.Errorf("%s %q", v.Status, v.Error)
	}
	s.Files.None("slow")
}
