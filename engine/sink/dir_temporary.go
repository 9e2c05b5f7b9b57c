package sink

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
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
const (
	temporaryFolder = ".tmp"
	temporaryDigits = 16
	temporaryEnd    = ".tmp"
)

// temporaries returns the folder of an object's temporary files, and what their
// names begin with.
func (d *Dir) temporaries(name string) (folder, begin string) {
	folder, file := filepath.Split(d.path(name))
	return folder + temporaryFolder, file + "."
}

// temporary returns a path for a new temporary file.
func (d *Dir) temporary(name string) string {
	folder, begin := d.temporaries(name)
	return filepath.Join(folder, begin+randomHex()+temporaryEnd)
}

// objectOf returns the name of the object to which a name belongs, and whether it is
// that of a temporary file.
func objectOf(name string) (object string, temporary bool) {
	folder, file := path.Split(name)
	digits := len(file) - len(temporaryEnd) - temporaryDigits
	if path.Base(folder) != temporaryFolder || digits < 2 || !temporaryOf(file, file[:digits]) {
		return name, false
	}
	return path.Join(path.Dir(path.Clean(folder)), file[:digits-1]), true
}

// removeTemporary removes one temporary file.
func (d *Dir) removeTemporary(name string) error {
	if err := os.Remove(d.path(name)); err != nil {
		if missing(err) {
			return nil
		}
		return err
	}
	return syncFolder(filepath.Dir(d.path(name)))
}

// sweep removes all temporary files of that name, so that a power cut does not
// bring them back.
func (d *Dir) sweep(name string) error {
	folder, begin := d.temporaries(name)
	entries, err := os.ReadDir(folder)
	if missing(err) {
		return nil
	}
	swept := false
	for _, e := range entries {
		if !temporaryOf(e.Name(), begin) {
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

// temporaryOf tells whether this is a temporary file of the object whose files
// begin like this, and not of one whose name only begins the same.
func temporaryOf(entry, begin string) bool {
	digits, ok := strings.CutPrefix(entry, begin)
	if !ok {
		return false
	}
	digits, ok = strings.CutSuffix(digits, temporaryEnd)
	if !ok || len(digits) != temporaryDigits {
		return false
	}
	_, err := hex.DecodeString(digits)
	return err == nil
}

func randomHex() string {
	var b [temporaryDigits / 2]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
