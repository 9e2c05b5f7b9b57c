package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// failure is an error whose text is one sentence for people, and that is matched as it
// says.
type failure struct {
	text string
	as   []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.as }

// Refused marks an error as one that ErrRefused matches. Its text stays.
func Refused(err error) error { return &failure{err.Error(), []error{ErrRefused, err}} }

// Taken is the error of a commit whose place has something else: what says which, and
// where. ErrConflict matches it.
func Taken(place, what string) error {
	return &failure{fmt.Sprintf("sink: %s is taken: %s lies there and was not changed", place, what), []error{ErrConflict}}
}

// remedies are what helps, by what a file system says. What is no outage, and stays the
// same until somebody changes it, is refused.
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

// failed is the error of what the file system has not done, with what helps.
func (d *Dir) failed(what string, err error) error {
	for _, r := range remedies {
		if !errors.Is(err, r.err) {
			continue
		}
		f := &failure{fmt.Sprintf("sink: %s: %v: "+r.remedy, what, bare(err), d.root), []error{err}}
		if r.refused {
			f.as = append(f.as, ErrRefused)
		}
		return f
	}
	return fmt.Errorf("sink: %s: %w", what, err)
}

// bare is an error of a file without the file, of which the sentence tells already; but
// not where the file is the point.
func bare(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
		return number
	}
	return err
}
