package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// makeFolders makes a folder and what is missing above it, so that a power cut
// does not take them away again.
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

// syncFolders makes the entries of a folder and of those above it, up to root,
// durable. Another process may have made them and not yet got so far.
func syncFolders(root, folder string) error {
	for {
		if err := syncFolder(folder); err != nil || folder == root {
			return err
		}
		folder = filepath.Dir(folder)
	}
}

func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // a file system that has no such thing
	}
	return errors.Join(err, f.Close())
}
