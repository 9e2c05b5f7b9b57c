package sink

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errEnded is the answer of a Writer after Commit or Abort.
var errEnded = errors.New("sink: the writer has ended")

// dirWriter writes a temporary file, and links it to the object's name in the
// end: link(2) fails where that name is taken, and shows the whole file or none.
type dirWriter struct {
	dir    *Dir
	ctx    context.Context
	name   string
	file   *os.File
	unhook func() bool // takes the abort back that the end of ctx would cause
	size   int64
	crc32c uint32
	err    error // of the first call that failed, or errEnded
}

// Create makes the temporary file, and the folders of the name below the root;
// in the innermost of them, or in the root, it makes the folder .tmp.
func (d *Dir) Create(ctx context.Context, o Object) (Writer, error) {
	if err := CheckName(o.Name); err != nil {
		return nil, err
	}
	w, err := d.create(ctx, o.Name)
	if err != nil {
		return nil, d.failed("create "+o.Name, err)
	}
	return w, nil
}

func (d *Dir) create(ctx context.Context, name string) (*dirWriter, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	temporary := d.temporary(name)
	if err := makeFoldersBelow(d.root, filepath.Dir(temporary)); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return nil, err
	}
	w := &dirWriter{dir: d, ctx: ctx, name: name, file: file}
	w.unhook = context.AfterFunc(ctx, w.discard)
	return w, nil
}

// discard may run beside any other method, since ctx may end at any time.
func (w *dirWriter) discard() {
	w.file.Close()
	os.Remove(w.file.Name())
}

// Write appends to the temporary file.
func (w *dirWriter) Write(p []byte) (int, error) {
	if err := w.alive(); err != nil {
		return 0, err
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	w.crc32c = crc32.Update(w.crc32c, castagnoli, p[:n])
	if err != nil {
		w.err = w.dir.failed("write "+w.name, w.because(err))
	}
	return n, w.err
}

func (w *dirWriter) alive() error {
	if w.err == nil {
		if err := context.Cause(w.ctx); err != nil {
			w.err = fmt.Errorf("sink: write %s: %w", w.name, err)
		}
	}
	return w.err
}

// because prefers the end of ctx to the error that it caused.
func (w *dirWriter) because(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	return err
}

// Abort removes the temporary file.
func (w *dirWriter) Abort() {
	if w.err == errEnded {
		return
	}
	w.err = errEnded
	w.unhook()
	w.discard()
}

// Commit links the file to its name. After an error nothing temporary is left.
func (w *dirWriter) Commit() (Committed, error) {
	err := w.alive()
	if err != nil {
		if err != errEnded {
			w.Abort()
		}
		return Committed{}, err
	}
	defer w.Abort()
	adopted, err := w.publish()
	if errors.Is(err, ErrConflict) {
		return Committed{}, err
	} else if err != nil {
		return Committed{}, w.dir.failed("commit "+w.name, err)
	}
	return Committed{Adopted: adopted, Bytes: w.size, CRC32C: w.crc32c}, nil
}

func (w *dirWriter) publish() (adopted bool, err error) {
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		return false, w.because(err)
	}
	path := w.dir.path(w.name)
	err = os.Link(w.file.Name(), path)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		// The name is taken, or the temporary file was swept away: by another writer
		// of this name, who has committed, or by Remove or the end of ctx, and
		// then there is nothing to adopt.
		adopted, err = true, w.compare(path)
	}
	if err != nil {
		return false, w.because(err)
	}
	// Our temporary file, and those that earlier writers of this name left when
	// they died. One that is still at work finds its own gone and looks again.
	if err := w.dir.sweep(w.name); err != nil {
		return false, err
	}
	return adopted, syncFolders(w.dir.root, filepath.Dir(path))
}

// compare returns nil where the file there has our bytes, ErrConflict where it
// has others.
func (w *dirWriter) compare(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if what := foreign(info); what != "" {
		return Taken(path, what+", which Fanfold has not made,")
	}
	if info.Size() != w.size {
		return Taken(path, fmt.Sprintf("a file of %d bytes, which is not this one of %d bytes,", info.Size(), w.size))
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := crc32.New(castagnoli)
	n, err := io.Copy(hash, cancelledReader{w.ctx, file})
	if err != nil {
		return err
	}
	if n != w.size || hash.Sum32() != w.crc32c {
		return Taken(path, "a file with other contents")
	}
	return nil
}

// cancelledReader ends with ctx, since a large file takes its time.
type cancelledReader struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelledReader) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
