package main

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
)

// target is where a job's file is brought to.
type target struct {
	io.Writer
	path      string   // of the file; empty: standard output
	temporary *os.File // becomes the file once it has all bytes
}

// newTarget proves that a file can be written, before a job runs for it. With - it is standard
// output, which from then on has nothing else of the command.
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

// bring writes the file of a job to the target.
func (b *backend) bring(ctx context.Context, v inspect.Job, to *target) error {
	files, name, err := b.Object(ctx, v.ID, v.File)
	if err != nil {
		return err
	}
	in, err := files.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := io.Copy(to.Writer, in); err != nil {
		return err
	}
	return to.keep()
}

// keep makes the target appear.
func (t *target) keep() error {
	if t.temporary == nil {
		return nil
	}
	if err := errors.Join(t.temporary.Sync(), t.temporary.Close()); err != nil {
		return err
	}
	return os.Rename(t.temporary.Name(), t.path)
}

// discard removes what is not whole; after keep there is nothing.
func (t *target) discard() {
	if t.temporary != nil {
		_ = t.temporary.Close()
		_ = os.Remove(t.temporary.Name())
	}
}
