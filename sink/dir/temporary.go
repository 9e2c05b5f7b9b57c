package dir

import (
	"fmt"
	"math/rand/v2"
	"path"
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

// temporary returns the name of a new temporary file.
func temporary(name string) string {
	folder, file := path.Split(name)
	return path.Join(folder, temporaryFolder, file+"."+randomHex()+".tmp")
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

func randomHex() string { return fmt.Sprintf("%016x", rand.Uint64()) }
