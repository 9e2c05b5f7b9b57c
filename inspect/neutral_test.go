package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNeutral: a job tells nothing of others, and still whether there is something to tell.
func TestNeutral(t *testing.T) {
	t.Parallel()
	got := Job{ID: "1", File: "gs://b/2-1.csv", SharedWith: "2", Unread: "dial tcp", Waits: "for 2", Error: "x",
		Listeners: []Listener{{Name: "a", Owner: "host", Why: "dial tcp"}}, FanIn: &Listener{Owner: "host", Why: "dial tcp"}}.Neutral()
	want := Job{ID: "1", File: "in the sink", Unread: "a server does not answer", Waits: "The job has not started yet.", Error: "x",
		Listeners: []Listener{{Name: "a"}}, FanIn: &Listener{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Job{ID: "1"}, Job{ID: "1"}.Neutral()); diff != "" {
		t.Error(diff)
	}
}
