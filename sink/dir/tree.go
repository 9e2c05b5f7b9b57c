package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/fanfold/fanfold/sink"
)

// root is the path of the directory of a sink.
type root string

// path returns the path of an object.
func (r root) path(name string) string { return filepath.Join(string(r), name) }

// open opens the directory. The caller closes it.
func (r root) open() (tree, error) {
	opened, err := os.OpenRoot(string(r))
	return tree{opened}, err
}

// object opens the tree to read an object.
func (r root) object(name string) (tree, error) {
	if err := sink.CheckName(name); err != nil {
		return tree{}, err
	}
	t, err := r.open()
	if err != nil {
		return t, r.notRead(name, err)
	}
	return t, nil
}

// notRead is the error of reading an object.
func (r root) notRead(name string, err error) error {
	if missing(err) {
		return fmt.Errorf("%w: %s", sink.ErrNoObject, r.path(name))
	}
	return r.failed("read "+name, err)
}

func (r root) remove(name string) error {
	t, err := r.open()
	if missing(err) {
		return nil
	} else if err != nil {
		return err
	}
	defer t.Close()
	if _, temporary := objectOf(name); !temporary {
		// The temporary files go first: a writer that is still at work can then only
		// have linked before, and what it linked goes next.
		if err := t.sweep(name); err != nil {
			return err
		}
	}
	if _, err := t.regular(name); missing(err) {
		return nil
	} else if err != nil {
		return err
	}
	if err := t.Remove(name); missing(err) {
		return nil
	} else if err != nil {
		return err
	}
	return t.sync(path.Dir(name))
}

// tree is the directory of a sink while it is used. os.Root keeps every name below the directory,
// whatever links exist or appear. Links that stay below it are refused, too, so that what a name
// means does not depend on them. Names are relative to the root.
type tree struct{ *os.Root }

// unlinked refuses a folder if it or one above it is a symbolic link. Missing folders are no error.
func (t tree) unlinked(folder string) error {
	for end := range len(folder) + 1 {
		if end < len(folder) && folder[end] != '/' {
			continue
		}
		info, err := t.Lstat(folder[:end])
		if missing(err) {
			return nil
		} else if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return sink.Refused(fmt.Errorf("%s is a symbolic link, which is not followed: replace it by the folder itself, or mount the other one there", path.Join(t.Name(), folder[:end])))
		}
	}
	return nil
}

// regular returns the file of this name. Anything else is refused.
func (t tree) regular(name string) (fs.FileInfo, error) {
	if err := t.unlinked(path.Dir(name)); err != nil {
		return nil, err
	}
	info, err := t.Lstat(name)
	if err != nil {
		return nil, err
	}
	if what := foreign(info); what != "" {
		return nil, sink.Refused(fmt.Errorf("%s exists there, which Fanfold has not created: remove it by hand", what))
	}
	return info, nil
}

// makeFolders creates a folder and missing folders above it, durably.
func (t tree) makeFolders(folder string) error {
	if err := t.unlinked(folder); err != nil {
		return err
	}
	if _, err := t.Lstat(folder); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.makeFolders(path.Dir(folder)); err != nil {
		return err
	}
	if err := t.Mkdir(folder, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return t.sync(path.Dir(folder))
}

// syncAll makes the entries of a folder and of those above it durable. Another process may have
// created them without syncing them yet.
func (t tree) syncAll(folder string) error {
	for {
		if err := t.sync(folder); err != nil || folder == "." {
			return err
		}
		folder = path.Dir(folder)
	}
}

func (t tree) sync(folder string) error {
	f, err := t.Open(folder)
	if err != nil {
		return err
	}
	return syncAndClose(f)
}

func syncAndClose(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // the file system does not support it
	}
	return errors.Join(err, f.Close())
}

// readDir returns the entries of a folder; none if it does not exist.
func (t tree) readDir(folder string) ([]fs.DirEntry, error) {
	if err := t.unlinked(folder); err != nil {
		return nil, err
	}
	f, err := t.Open(folder)
	if missing(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if missing(err) { // it is a file
		err = nil
	}
	return entries, err
}

// sweep removes all temporary files of an object, durably.
func (t tree) sweep(name string) error {
	folder := path.Join(path.Dir(name), temporaryFolder)
	entries, err := t.readDir(folder)
	if err != nil {
		return err
	}
	swept := false
	for _, e := range entries {
		if of := temporaryFile.FindStringSubmatch(e.Name()); of == nil || of[1] != path.Base(name) {
			continue
		}
		gone := t.Remove(path.Join(folder, e.Name()))
		swept = swept || gone == nil
		if !missing(gone) {
			err = errors.Join(err, gone)
		}
	}
	if swept {
		err = errors.Join(err, t.sync(folder))
	}
	return err
}
