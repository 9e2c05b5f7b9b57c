package dir

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

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
