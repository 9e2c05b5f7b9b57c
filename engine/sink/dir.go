package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fanfold/fanfold/report"
)

// Dir is a sink that stores its objects as files below one directory. Processes and machines may
// share the directory if its file system has hard links. Files that are being written are in hidden
// folders named .tmp beside the objects.
//
// It stores neither content type nor metadata: adoption compares only size and checksum. Symbolic
// links below the root are followed, because only the owner of the directory can create them.
type Dir struct {
	root string
}

var _ Sink = (*Dir)(nil)

// NewDir returns the sink of a directory, an absolute path. It does no I/O: Make creates the
// directory.
func NewDir(root string) (*Dir, error) {
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("sink: directory %q is not an absolute path", root)
	}
	return &Dir{root: filepath.Clean(root)}, nil
}

// Make creates the directory, and missing folders above it.
func (d *Dir) Make() error {
	if err := makeFolders(d.root); err != nil {
		return d.failed("make "+d.root, err)
	}
	info, err := os.Stat(d.root)
	if err != nil {
		return d.failed("look at "+d.root, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("sink: %s is not a directory", d.root)
	}
	return nil
}

// URL returns file://<root>/<name>.
func (d *Dir) URL(name string) string {
	return report.SinkURL{Scheme: report.SchemeFile, Place: filepath.Join(d.root, name)}.String()
}

// Name is the reverse of URL.
func (d *Dir) Name(text string) (string, bool) {
	u, wrong := report.ParseSinkURL(text)
	if wrong != nil || u.Scheme != report.SchemeFile {
		return "", false
	}
	name, err := filepath.Rel(d.root, u.Place)
	if err != nil || CheckName(name) != nil {
		return "", false
	}
	return name, true
}

// Path returns the path of an existing object.
func (d *Dir) Path(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	path := d.path(name)
	if _, err := os.Stat(path); missing(err) {
		return "", fmt.Errorf("%w: %s", ErrNoObject, path)
	} else if err != nil {
		return "", d.failed("look at "+name, err)
	}
	return path, nil
}

// Open opens the file of an object. Other kinds of files are refused: reading a pipe would block.
func (d *Dir) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := d.Path(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return nil, d.failed("read "+name, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, d.failed("read "+name, err)
	}
	return &dirReader{ctx, file}, nil
}

// dirReader reads a file until its context ends.
type dirReader struct {
	ctx  context.Context
	file *os.File
}

func (r *dirReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

func (r *dirReader) Close() error { return r.file.Close() }

// Check writes and removes a hidden file, which also tests hard links. It does not create a missing
// directory; the error then matches fs.ErrNotExist.
func (d *Dir) Check(ctx context.Context) error {
	name := ".fanfold-check-" + randomHex()
	w, err := d.create(ctx, name)
	if missing(err) {
		if _, gone := os.Stat(d.root); missing(gone) {
			return &failure{"sink: there is no directory " + d.root, []error{fs.ErrNotExist}}
		}
	}
	if err != nil {
		return d.failed("write into "+d.root, err)
	}
	defer w.Abort()
	_, err = w.Write([]byte("fanfold\n"))
	if err == nil {
		_, err = w.Commit()
	}
	// Removed after an error, too: it may have come after the file.
	removed := d.remove(name)
	if err == nil && removed != nil {
		err = d.failed("remove from "+d.root, removed)
	}
	return err
}

// Close does nothing.
func (d *Dir) Close() error { return nil }

// Remove deletes the file and the temporary files of interrupted writes, or one of these. The
// folder stays, even if it is empty.
func (d *Dir) Remove(ctx context.Context, name string) error {
	remove := d.remove
	object, temporary := objectOf(name)
	if temporary {
		remove = d.removeFile
	}
	if err := errors.Join(CheckName(object), ctx.Err()); err != nil {
		return err
	}
	if err := remove(name); err != nil {
		return d.failed("remove "+name, err)
	}
	return nil
}

func (d *Dir) remove(name string) error {
	// The temporary files go first: a writer that is still at work can then only
	// have linked before, and what it linked goes next.
	if err := d.sweep(name); err != nil {
		return err
	}
	info, err := os.Lstat(d.path(name))
	if missing(err) {
		return nil
	} else if err != nil {
		return err
	}
	if what := foreign(info); what != "" {
		return Refused(fmt.Errorf("%s exists there, which Fanfold has not created: remove it by hand", what))
	}
	return d.removeFile(name)
}

func (d *Dir) removeFile(name string) error {
	err := os.Remove(d.path(name))
	if missing(err) {
		return nil
	}
	return errors.Join(err, syncFolder(filepath.Dir(d.path(name))))
}

func (d *Dir) path(name string) string { return filepath.Join(d.root, name) }

// foreign describes what Fanfold never creates in an object's place; empty for a file.
func foreign(info fs.FileInfo) string {
	switch {
	case info.Mode().IsRegular():
		return ""
	case info.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case info.IsDir():
		return "a folder"
	}
	return "something that is no file"
}

// missing tells whether nothing can exist at a path, for example because a part of it is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
