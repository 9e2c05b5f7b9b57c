package sink

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
)

// While an object is written it is a temporary file in a hidden folder beside
// its place: withdrawals/1111-1.csv is
//
//	withdrawals/.tmp/1111-1.csv.<16 hex digits>.tmp
//
// The folder is of the same file system, so that the file can be linked to its
// place, and has only what is being written or was interrupted. So a sweep need
// not list the objects, of which there may be a hundred thousand. It stays when
// it is empty: another process may be about to write into it.
const temporaryFolder = ".tmp"

var temporaryFile = regexp.MustCompile(`^(.+)\.[0-9a-f]{16}\.tmp$`)

// temporary returns the path of a new temporary file.
func (d *Dir) temporary(name string) string {
	folder, file := filepath.Split(d.path(name))
	return filepath.Join(folder, temporaryFolder, file+"."+randomHex()+".tmp")
}

// objectOf returns the object to which a name belongs, and whether the name is that of a temporary
// file.
func objectOf(name string) (object string, temporary bool) {
	folder, file := path.Split(name)
	if path.Base(folder) != temporaryFolder {
		return name, false
	}
	of := temporaryFile.FindStringSubmatch(file)
	if of == nil {
		return name, false
	}
	return path.Join(path.Dir(path.Clean(folder)), of[1]), true
}

// sweep removes all temporary files of an object, durably.
func (d *Dir) sweep(name string) error {
	folder, file := filepath.Split(d.path(name))
	folder += temporaryFolder
	entries, err := os.ReadDir(folder)
	if missing(err) {
		return nil
	}
	swept := false
	for _, e := range entries {
		if of := temporaryFile.FindStringSubmatch(e.Name()); of == nil || of[1] != file {
			continue
		}
		gone := os.Remove(filepath.Join(folder, e.Name()))
		swept = swept || gone == nil
		if !missing(gone) {
			err = errors.Join(err, gone)
		}
	}
	if swept {
		err = errors.Join(err, syncFolder(folder))
	}
	return err
}

func randomHex() string { return fmt.Sprintf("%016x", rand.Uint64()) }
