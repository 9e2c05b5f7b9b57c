package dir

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/sink"
)

// TestFailed: what is an outage, what is refused, and what helps.
func TestFailed(t *testing.T) {
	t.Parallel()
	d, err := New("/var/files")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		number  error
		refused bool
		want    string
	}{
		{syscall.ENOSPC, false, "write r/1.csv: no space left on device: free space on /var/files"},
		{syscall.EDQUOT, false, "write r/1.csv: disk quota exceeded: free space on /var/files, or raise the quota"},
		{syscall.EROFS, false, "write r/1.csv: read-only file system: remount /var/files so that it can be written"},
		{syscall.EACCES, true, "write r/1.csv: open /x: permission denied: let the user of this process write below /var/files"},
		{syscall.ENOTDIR, true, "write r/1.csv: open /x: not a directory: there is a file below /var/files where a folder should be: move it away"},
		{syscall.EIO, false, "write r/1.csv: open /x: input/output error"},
	} {
		err := d.root.failed("write r/1.csv", &fs.PathError{Op: "open", Path: "/x", Err: c.number})
		if err.Error() != c.want || errors.Is(err, sink.ErrRefused) != c.refused || !errors.Is(err, c.number) {
			t.Errorf("refused %v: %s, want %s", errors.Is(err, sink.ErrRefused), err, c.want)
		}
	}
}
