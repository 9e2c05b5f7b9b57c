package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

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

// syncFolders makes the entries of a folder and of those above it, up to root, durable. Another
// process may have created them without syncing them yet.
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
		err = nil // the file system does not support it
	}
	return errors.Join(err, f.Close())
}
