package dir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/fanfold/fanfold/sink"
)

// listPage is how many entries of a folder are read at once.
const listPage = 1000

// List reads the folder of the prefix, or the root and the folders in it, but none below, because
// Fanfold has no objects there. It reads a folder as a whole. Links in the root are left out.
func (d *Sink) List(ctx context.Context, prefix string) iter.Seq2[sink.Listed, error] {
	return func(yield func(sink.Listed, error) bool) {
		t, err := d.root.open()
		if missing(err) {
			return
		} else if err != nil {
			yield(sink.Listed{}, d.root.failed("list "+string(d.root), err))
			return
		}
		defer t.Close()
		folders := []string{path.Dir(prefix)}
		if prefix == "" {
			entries, err := t.readDir(".")
			if err != nil {
				yield(sink.Listed{}, d.root.failed("list "+string(d.root), err))
				return
			}
			for _, e := range entries {
				if e.IsDir() && sink.CheckName(e.Name()) == nil {
					folders = append(folders, e.Name())
				}
			}
		}
		for _, folder := range folders {
			if !d.root.list(ctx, t, folder, prefix, yield) ||
				!d.root.list(ctx, t, path.Join(folder, temporaryFolder), prefix, yield) {
				return
			}
		}
	}
}

// list lists one folder, and tells whether more is wanted.
func (r root) list(ctx context.Context, t tree, folder, prefix string,
	yield func(sink.Listed, error) bool) (more bool) {
	err := t.unlinked(folder)
	var f *os.File
	if err == nil {
		if f, err = t.Open(folder); err == nil {
			defer f.Close()
		}
	}
	for err == nil {
		var entries []fs.DirEntry
		if err = context.Cause(ctx); err == nil {
			entries, err = f.ReadDir(listPage)
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			object, temporary := objectOf(name)
			if !e.Type().IsRegular() || sink.CheckName(object) != nil ||
				temporary != (path.Base(folder) == temporaryFolder) || !strings.HasPrefix(object, prefix) {
				continue
			}
			info, gone := t.Lstat(name)
			if gone == nil && !yield(sink.Listed{Name: name, Object: object, Modified: info.ModTime()}, nil) {
				return false
			}
		}
	}
	if errors.Is(err, io.EOF) || missing(err) {
		return true
	}
	yield(sink.Listed{}, r.failed("list "+folder, err))
	return false
}
