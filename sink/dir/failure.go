package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/fanfold/fanfold/sink"
)

// remedies are by the error of the file system. Permanent errors are refused.
var remedies = []struct {
	err     error
	refused bool
	remedy  string // with the root
}{
	{syscall.ENOSPC, false, "free space on %s"},
	{syscall.EDQUOT, false, "free space on %s, or raise the quota"},
	{syscall.EROFS, false, "remount %s so that it can be written"},
	{fs.ErrPermission, true, "let the user of this process write below %s"},
	{syscall.ENOTDIR, true, "there is a file below %s where a folder should be: move it away"},
	{syscall.ENAMETOOLONG, true, "use a file system for %s that takes longer names"},
}

// failed wraps an error of the file system with its remedy.
func (r root) failed(what string, err error) error {
	for _, one := range remedies {
		if !errors.Is(err, one.err) {
			continue
		}
		as := []error{err}
		if one.refused {
			as = append(as, sink.ErrRefused)
		}
		return sink.Failure(fmt.Sprintf("%s: %v: "+one.remedy, what, bare(err), string(r)), as...)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// bare removes the file from an error, because the sentence names it already, unless the remedy
// refers to the file.
func bare(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
		return number
	}
	return err
}
