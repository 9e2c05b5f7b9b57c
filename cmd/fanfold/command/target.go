package command

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/report"
)

// target is where the file of a job is copied to.
type target struct {
	io.Writer
	path      string   // of the file; empty means standard output
	temporary *os.File // renamed to path once it is complete
}

// newTarget opens a target before the job starts, so that a path that cannot be written fails early.
// With -, the target is standard output, and the command's other output goes to standard error.
func newTarget(c *cobra.Command, path string) (*target, error) {
	if path == "-" {
		out := screen.Bytes(c.OutOrStdout())
		c.SetOut(c.ErrOrStderr())
		return &target{Writer: out}, nil
	}
	mode := fs.FileMode(0o666)
	info, err := os.Stat(path)
	switch {
	case path == "":
		return nil, errors.New("the name is empty")
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder: name a file in it")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file: use --file - and redirect the output")
	default:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	name := filepath.Join(filepath.Dir(path), ".fanfold-"+rand.Text()+".part")
	temporary, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return nil, err
	}
	return &target{temporary, path, temporary}, nil
}

// copyFile copies the file of a job to the target.
func (b *backend) copyFile(ctx context.Context, v inspect.Job, to *target) error {
	if report.Skipped(v.Status, v.File, v.Rows) {
		return errors.New(report.NoRows)
	}
	found, err := b.Object(ctx, v.ID, v.File)
	if err != nil {
		return err
	}
	in, err := found.Sink.Open(ctx, found.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := io.Copy(to.Writer, in); err != nil {
		return err
	}
	return to.commit()
}

// commit renames the temporary file to its path.
func (t *target) commit() error {
	if t.temporary == nil {
		return nil
	}
	if err := errors.Join(t.temporary.Sync(), t.temporary.Close()); err != nil {
		return err
	}
	return os.Rename(t.temporary.Name(), t.path)
}

// discard removes an incomplete file. After commit it does nothing.
func (t *target) discard() {
	if t.temporary != nil {
		_ = t.temporary.Close()
		_ = os.Remove(t.temporary.Name())
	}
}
