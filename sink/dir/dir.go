package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// Sink stores its objects as files below one directory. Processes and machines may share the
// directory if its file system has hard links. Files that are being written are in hidden
// folders named .tmp beside the objects.
//
// It stores neither content type nor metadata: adoption compares only size and checksum. Symbolic
// links below the root are refused: a link could show or change any file that the process can open.
type Sink struct {
	root root
}

var (
	_ sink.Sink  = (*Sink)(nil)
	_ sink.Local = (*Sink)(nil)
	_ sink.Maker = (*Sink)(nil)
)

// New returns the sink of a directory, an absolute path. It does no I/O: Make creates the directory.
func New(path string) (*Sink, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("directory %q is not an absolute path", path)
	}
	return &Sink{root: root(filepath.Clean(path))}, nil
}

// Make creates the directory, and missing folders above it.
func (d *Sink) Make() error {
	folder := string(d.root)
	if err := makeFolders(folder); err != nil {
		return d.root.failed("make "+folder, err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return d.root.failed("read "+folder, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", d.root)
	}
	return nil
}

// makeFolders creates a folder and missing folders above it, durably.
func makeFolders(folder string) error {
	if _, err := os.Stat(folder); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(folder)
	if parent == folder {
		return fs.ErrNotExist
	}
	if err := makeFolders(parent); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return syncAndClose(f)
}

// MakeHint says how to make the directory by hand.
func (d *Sink) MakeHint() string {
	return "run mkdir -p " + string(d.root) +
		" as the user of fanfold serve, which otherwise tries to create it; if it is a mount point, mount it"
}

// URL returns file://<root>/<name>.
func (d *Sink) URL(name string) string {
	return string(urlOf(d.root.path(name)))
}

// urlOf returns the URL of an absolute path.
func urlOf(path string) report.SinkURL {
	return report.SinkURL((&url.URL{Scheme: "file", Path: path}).String())
}

// Name is the reverse of URL.
func (d *Sink) Name(text string) (string, bool) {
	file, wrong := parse(text)
	if wrong != "" {
		return "", false
	}
	name, err := filepath.Rel(string(d.root), file)
	if err != nil || sink.CheckName(name) != nil {
		return "", false
	}
	return name, true
}

// Path returns the path of an existing object.
func (d *Sink) Path(name string) (string, error) {
	if _, err := d.Size(name); err != nil {
		return "", err
	}
	return d.root.path(name), nil
}

// Size returns the size of an existing object in bytes.
func (d *Sink) Size(name string) (int64, error) {
	t, err := d.root.object(name)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	info, err := t.regular(name)
	if err != nil {
		return 0, d.root.notRead(name, err)
	}
	return info.Size(), nil
}

// Open opens the file of an object. Other kinds of files are refused: a link leads elsewhere, and
// reading a pipe would block.
func (d *Sink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := d.root.object(name)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	before, err := t.regular(name)
	if err != nil {
		return nil, d.root.notRead(name, err)
	}
	file, err := t.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, d.root.notRead(name, err)
	}
	// A link may have replaced the file in between.
	if after, err := file.Stat(); err != nil || !os.SameFile(before, after) {
		return nil, d.root.failed("read "+name,
			errors.Join(err, errors.New("it was replaced while it was opened"), file.Close()))
	}
	return &reader{ctx, file}, nil
}

// reader reads a file until its context ends.
type reader struct {
	ctx  context.Context
	file *os.File
}

func (r *reader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

func (r *reader) Close() error { return r.file.Close() }

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) { return r.file.Seek(offset, whence) }

// Check writes and removes a file, which also tests hard links. It does not create a missing
// directory; the error then matches fs.ErrNotExist.
func (d *Sink) Check(ctx context.Context) error {
	name := sink.NewProbe(sink.ProbePrefix)
	u, err := d.root.create(ctx, name)
	if missing(err) {
		if _, gone := os.Stat(string(d.root)); missing(gone) {
			return sink.Failure("there is no directory "+string(d.root), fs.ErrNotExist)
		}
	}
	if err != nil {
		return d.root.failed("write into "+string(d.root), err)
	}
	w := sink.NewWriter(ctx, u)
	defer w.Abort()
	_, err = w.Write([]byte("fanfold\n"))
	if err == nil {
		_, err = w.Commit()
	}
	// Removed after an error, too: it may have come after the file.
	removed := d.root.remove(name)
	if err == nil && removed != nil {
		err = d.root.failed("remove from "+string(d.root), removed)
	}
	return err
}

// Close does nothing.
func (d *Sink) Close() error { return nil }

// Remove deletes the file and the temporary files of interrupted writes, or one of these. The
// folder stays, even if it is empty.
func (d *Sink) Remove(ctx context.Context, name string) error {
	object, _ := objectOf(name)
	if err := errors.Join(sink.CheckName(object), ctx.Err()); err != nil {
		return err
	}
	if err := d.root.remove(name); err != nil {
		return d.root.failed("remove "+name, err)
	}
	return nil
}

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
