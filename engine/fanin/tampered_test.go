package fanin_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestTamperedWhilePublishing: the parameters of a job are overwritten between its file and its
// record. It fails, and its file is removed.
func TestTamperedWhilePublishing(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {grace: 1s, lease: 1s}")
	ctx, sc := t.Context(), s.Partitions.First()
	id := s.States.Ready()
	fold := s.States.Claim(id, "gone")
	if outcomes, err := sc.Folds.Publish(ctx, fold); err != nil || outcomes[0] != scripts.OK {
		t.Fatal(outcomes, err)
	}
	s.Redis.HSet(ctx, sc.Keys.Job(id), "parameters", "{no JSON")
	s.Serve(s.File)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "is not JSON") {
		t.Errorf("%s %q", v.Status, v.Error)
	}
	s.Files.None("slow")
}
