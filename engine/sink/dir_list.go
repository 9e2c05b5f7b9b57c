package sink

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
)

// listPage is how many entries of a folder are read at once.
const listPage = 1000

// List reads the root and the folders in it, or those of the prefixes; no folder
// below these, since no object of Fanfold is there. It reads each folder once, whole.
func (d *Dir) List(ctx context.Context, prefixes ...string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		folders, err := d.folders(prefixes)
		if err != nil {
			yield(Listed{}, d.failed("list "+d.root, err))
			return
		}
		wanted := begins(prefixes)
		for _, folder := range folders {
			for _, f := range []string{folder, path.Join(folder, temporaryFolder)} {
				if !d.listFolder(ctx, f, wanted, yield) {
					return
				}
			}
		}
	}
}

// folders are those in which objects of the prefixes are; without any, all.
func (d *Dir) folders(prefixes []string) (folders []string, err error) {
	for _, p := range prefixes {
		folders = append(folders, path.Dir(p))
	}
	if len(prefixes) > 0 {
		slices.Sort(folders)
		return slices.Compact(folders), nil
	}
	entries, err := os.ReadDir(d.root)
	if err != nil && !missing(err) {
		return nil, err
	}
	folders = []string{"."}
	for _, e := range entries {
		if e.Type().IsRegular() || CheckName(e.Name()) != nil {
			continue
		}
		if info, err := os.Stat(d.path(e.Name())); err == nil && info.IsDir() {
			folders = append(folders, e.Name())
		}
	}
	return folders, nil
}

// begins returns whether a name begins with one of the prefixes. There may be
// thousands of each.
func begins(prefixes []string) func(name string) bool {
	if len(prefixes) == 0 {
		return func(string) bool { return true }
	}
	set, lengths := map[string]bool{}, map[int]bool{}
	for _, p := range prefixes {
		set[p], lengths[len(p)] = true, true
	}
	return func(name string) bool {
		for n := range lengths {
			if n <= len(name) && set[name[:n]] {
				return true
			}
		}
		return false
	}
}

// listFolder tells whether more is wanted.
func (d *Dir) listFolder(ctx context.Context, folder string, wanted func(string) bool, yield func(Listed, error) bool) (more bool) {
	f, err := os.Open(d.path(folder))
	if missing(err) {
		return true
	}
	if err == nil {
		defer f.Close()
	}
	for err == nil {
		if err = context.Cause(ctx); err != nil {
			break
		}
		var entries []fs.DirEntry
		entries, err = f.ReadDir(listPage)
		for _, e := range entries {
			if found, ok := listed(folder, e, wanted); ok && !yield(found, nil) {
				return false
			}
		}
	}
	if errors.Is(err, io.EOF) || missing(err) {
		return true
	}
	yield(Listed{}, d.failed("list "+folder, err))
	return false
}

// listed is an entry of a folder, if it is a file that is wanted.
func listed(folder string, e fs.DirEntry, wanted func(string) bool) (Listed, bool) {
	name := path.Join(folder, e.Name())
	object, temporary := objectOf(name)
	if !e.Type().IsRegular() || CheckName(object) != nil || temporary != (path.Base(folder) == temporaryFolder) || !wanted(object) {
		return Listed{}, false
	}
	info, err := e.Info()
	if err != nil {
		return Listed{}, false // it was removed meanwhile
	}
	return Listed{Name: name, Object: object, Modified: info.ModTime()}, true
}
