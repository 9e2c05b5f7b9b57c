package engine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/fanfold/fanfold/report"
)

// errScratch marks an error of the files for what a fold cannot hold, such as that
// of a full disk.
var errScratch = errors.New("scratch file")

// room is what one fold may use.
func (e *Engine) room(ctx context.Context) report.Room {
	return report.Room{Bytes: e.o.Limits.FoldBytes, Scratch: func() (report.Scratch, error) { return newScratch(ctx) }}
}

// scratchFolder is $TMPDIR. Where it is not set it is /var/tmp, since /tmp is in
// memory on many systems.
func scratchFolder() string {
	const folder = "/var/tmp"
	if _, err := os.Stat(folder); os.Getenv("TMPDIR") == "" && err == nil {
		return folder
	}
	return os.TempDir()
}

// CheckScratch makes and writes such a file, which is gone at once, and returns the
// folder. Without one, a fold that needs it fails.
func CheckScratch(ctx context.Context) (folder string, err error) {
	folder = scratchFolder()
	file, err := newScratch(ctx)
	if err != nil {
		return folder, err
	}
	defer file.Close()
	_, err = file.WriteAt(make([]byte, 4096), 0)
	return folder, err
}

// scratch is a file without a name: nobody else can open it, and its bytes are free
// again when it is closed or the process ends, however that happens.
type scratch struct {
	ctx  context.Context
	file *os.File
}

func newScratch(ctx context.Context) (report.Scratch, error) {
	file, err := os.CreateTemp(scratchFolder(), "fanfold-*.scratch")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errScratch, err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("%w: %w", errScratch, err)
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
	if err != nil {
		err = fmt.Errorf("%w: %w", errScratch, err)
	}
	return n, err
}

// Close frees the bytes.
func (s *scratch) Close() error { return s.file.Close() }
