package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// failure is an error with one sentence for people as its text, and the errors that it matches.
type failure struct {
	text string
	as   []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.as }

// Refused makes an error match ErrRefused. Its text stays.
func Refused(err error) error { return &failure{err.Error(), []error{ErrRefused, err}} }

// Taken is the error of a commit to a place where something else exists. ErrConflict matches it.
func Taken(place, what string) error {
	return &failure{fmt.Sprintf("sink: %s is taken: %s lies there and was not changed", place, what), []error{ErrConflict}}
}

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
