package dir

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"regexp"

	"github.com/fanfold/fanfold/sink"
)

// upload writes a temporary file, and finally links it to the object's name: link(2) fails if
// that name exists, and shows the whole file or nothing.
type upload struct {
	root   root
	tree   tree
	ctx    context.Context
	name   string
	file   *os.File
	wrote  string      // name of the temporary file
	unhook func() bool // takes the discard back that the end of ctx would cause
}

// Create creates the temporary file, the folders of the name below the root, and the folder .tmp in
// the innermost of them.
func (d *Sink) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if err := sink.CheckName(o.Name); err != nil {
		return nil, err
	}
	u, err := d.root.create(ctx, o.Name)
	if err != nil {
		return nil, d.root.failed("create "+o.Name, err)
	}
	return sink.NewWriter(ctx, u), nil
}

func (r root) create(ctx context.Context, name string) (*upload, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	// The root is not made: one that is gone is a mount that is gone, and what is written
	// into its place would be lost.
	t, err := r.open()
	if err != nil {
		return nil, err
	}
	u := &upload{root: r, tree: t, ctx: ctx, name: name, wrote: temporary(name)}
	if err = t.makeFolders(path.Dir(u.wrote)); err == nil {
		u.file, err = t.OpenFile(u.wrote, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	u.unhook = context.AfterFunc(ctx, u.discard)
	return u, nil
}

// discard may run concurrently with any other method, because ctx may end at any time.
func (u *upload) discard() {
	_ = u.file.Close()
	_ = u.tree.Remove(u.wrote)
}

// Send appends to the temporary file.
func (u *upload) Send(p []byte) error {
	_, err := u.file.Write(p)
	return err
}

// End removes the temporary file.
func (u *upload) End() {
	u.unhook()
	u.discard()
	_ = u.tree.Close()
}

// Failed adds the remedy to an error.
func (u *upload) Failed(what string, err error) error { return u.root.failed(what+" "+u.name, err) }

// Publish links the file to its name.
func (u *upload) Publish(size int64, crc32c uint32) (adopted bool, err error) {
	if err := errors.Join(u.file.Sync(), u.file.Close()); err != nil {
		return false, err
	}
	err = u.tree.Link(u.wrote, u.name)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		// The name is taken, or the temporary file was swept away: by another writer
		// of this name, who has committed, or by Remove or the end of ctx, and
		// then there is nothing to adopt.
		adopted, err = true, u.compare(size, crc32c)
	}
	if err != nil {
		return false, err
	}
	// Our temporary file, and those that earlier writers of this name left when
	// they died. One that is still at work finds its own gone and looks again.
	if err := u.tree.sweep(u.name); err != nil {
		return false, err
	}
	return adopted, u.tree.syncAll(path.Dir(u.name))
}

// compare returns nil if the file has our bytes, otherwise ErrConflict.
func (u *upload) compare(size int64, crc32c uint32) error {
	place := u.root.path(u.name)
	info, err := u.tree.Lstat(u.name)
	if err != nil {
		return err
	}
	if what := foreign(info); what != "" {
		return sink.Taken(place, what+", which Fanfold has not made,")
	}
	if info.Size() != size {
		return sink.Taken(place, fmt.Sprintf("a file of %d bytes, which is not this one of %d bytes,",
			info.Size(), size))
	}
	file, err := u.tree.Open(u.name)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := crc32.New(sink.Castagnoli)
	n, err := io.Copy(hash, &reader{u.ctx, file})
	if err != nil {
		return err
	}
	if n != size || hash.Sum32() != crc32c {
		return sink.Taken(place, "a file with other contents")
	}
	return nil
}

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
