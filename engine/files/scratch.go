package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// scratchFolder returns $TMPDIR, or /var/tmp if it is not set, because /tmp is in memory on many
// systems.
func scratchFolder() string {
	const folder = "/var/tmp"
	if _, err := os.Stat(folder); os.Getenv("TMPDIR") == "" && err == nil {
		return folder
	}
	return os.TempDir()
}

// CheckScratch creates, writes and removes a scratch file, and returns the folder. Without a usable
// folder, a fold that needs one fails.
func CheckScratch(ctx context.Context) (folder string, err error) {
	folder = scratchFolder()
	file, err := NewScratch(ctx)
	if err != nil {
		return folder, err
	}
	defer file.Close()
	_, err = file.WriteAt(make([]byte, 4096), 0)
	return folder, err
}

// ScratchHint is the remedy if CheckScratch fails.
const ScratchHint = "set TMPDIR to a folder on a disk in which the process may create files; " +
	"otherwise a join of more than limits.fold_memory fails"

// scratch is a file without a name: no other process can open it, and its space is freed when it is
// closed or the process ends.
type scratch struct {
	ctx  context.Context
	file *os.File
}

// NewScratch creates a scratch file, which is read and written until ctx ends.
func NewScratch(ctx context.Context) (fold.Scratch, error) {
	file, err := os.CreateTemp(scratchFolder(), "fanfold-*.scratch")
	if err != nil {
		return nil, scratchError(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, scratchError(err)
	}
	return &scratch{ctx, file}, nil
}

// ReadAt reads as io.ReaderAt does, until ctx ends.
func (s *scratch) ReadAt(p []byte, at int64) (int, error) { return s.io(s.file.ReadAt, p, at) }

// WriteAt writes as io.WriterAt does, until ctx ends.
func (s *scratch) WriteAt(p []byte, at int64) (int, error) { return s.io(s.file.WriteAt, p, at) }

func (s *scratch) io(do func([]byte, int64) (int, error), p []byte, at int64) (int, error) {
	err := context.Cause(s.ctx)
	n := 0
	if err == nil {
		n, err = do(p, at)
	}
	return n, scratchError(err)
}

// scratchError returns an error of a scratch file as the failure of a try, with the remedy for a full
// disk.
func scratchError(err error) error {
	if err == nil {
		return nil
	}
	remedy := ""
	if errors.Is(err, syscall.ENOSPC) {
		remedy = ": free space in " + scratchFolder() +
			", set TMPDIR to a folder on a larger disk, or raise limits.fold_memory"
	}
	err = fmt.Errorf("scratch file: %w%s", err, remedy)
	return &step.Failure{Result: step.Result{Kind: step.Retry, Err: err, Blame: job.BlameSink}}
}

// Close frees the space.
func (s *scratch) Close() error { return s.file.Close() }
