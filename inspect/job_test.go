package inspect

import (
	"testing"

	"github.com/fanfold/fanfold/scripts/job"
)

// TestWhereDataLies: in Redis, or in the segments that a ticket lists.
func TestWhereDataLies(t *testing.T) {
	t.Parallel()
	const ticket = "gs://b/r/1-1-k7m2qx=a=0-w1= 38,380000,8388112,1a2b3c4d 12,118000,2388112,0a2b3c4d"
	for _, c := range []struct {
		of    job.TaskState
		bytes int64
		spool string
		where string
	}{
		{job.TaskState{}, 0, "", ""},
		{job.TaskState{Bytes: 700}, 700, "", "700 B in Redis"},
		{job.TaskState{At: ticket}, 10776224, "gs://b/r/1-1-k7m2qx=a=0-w1=", "10.3 MB in the spool"},
		{job.TaskState{At: "x= 1,2"}, 0, "", ""},
		{job.TaskState{Parts: 8}, 0, "", "0 of 8 parts"},
		{job.TaskState{Parts: 8, PartsRead: 3, PartsBytes: 2 << 20}, 2 << 20, "", "3 of 8 parts, 2.0 MB in the spool"},
		{job.TaskState{Parts: 8, Done: true, At: ticket}, 10776224, "gs://b/r/1-1-k7m2qx=a=0-w1=", "10.3 MB in the spool"},
	} {
		var l Listener
		if l.is(Part{"a", c.of}); l.Bytes != c.bytes || l.Spool != c.spool || l.Where() != c.where {
			t.Errorf("%+v: %d %s %q", c.of, l.Bytes, l.Spool, l.Where())
		}
	}
	if got := (Job{Bytes: 700, Spooled: 3 << 30}).Where(); got != "700 B in Redis, 3.0 GB in the spool" {
		t.Error(got)
	}
}
