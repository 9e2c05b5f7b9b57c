package sink

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Object describes a file before it is written.
type Object struct {
	Name        string            // relative path with forward slashes, such as report/1111-1-k7m2qx.csv
	ContentType string            // such as "text/csv; charset=utf-8"
	SaveAs      string            // name under which browsers save it, kept where the sink can; empty: any
	Metadata    map[string]string // kept with the object where the sink can; must agree on adoption
}

// Committed says what a commit did.
type Committed struct {
	Adopted bool   // the same object was there already
	Bytes   int64  // size of the object
	CRC32C  uint32 // Castagnoli checksum of its bytes
}

// Listed is a file that List found.
type Listed struct {
	Name     string    // as Remove takes it
	Object   string    // the object's name; differs from Name for what an interrupted write left of it
	Modified time.Time // when it was written
}

// ErrConflict is returned by Commit if an object of that name exists and has other bytes or other
// metadata. Nothing was changed.
var ErrConflict = errors.New("another object of this name exists")

// ErrRefused matches errors of a sink that denies access, or does not know the bucket or folder:
// retrying soon does not help.
var ErrRefused = errors.New("refused")

// ErrTooLarge matches errors of a Write beyond the maximum size of an object: writing it again does not help.
var ErrTooLarge = errors.New("object too large")

// ErrUnfit matches errors of Check that say what must change before the place can be used, and how.
var ErrUnfit = errors.New("unfit")

// ErrNoObject matches errors of operations on an object that does not exist.
var ErrNoObject = errors.New("no such object")

// Sink is where files go. All methods are safe for concurrent use.
type Sink interface {
	// Create begins an object. Nothing can be seen of it until Commit. ctx is that
	// of the whole write: cancelling it before Commit returns aborts it. A name
	// that CheckName refuses is an error.
	Create(ctx context.Context, o Object) (Writer, error)
	// Remove deletes the object and whatever interrupted writes of that name left
	// behind; of a name that List gave for such a leftover, only that. If a writer
	// still runs, its Commit fails or adopts. It is no error if nothing exists.
	Remove(ctx context.Context, name string) error
	// Open returns the bytes of an object as they are stored; its caller closes it. It is an io.Seeker
	// where a part of the object can be read at the same cost. ctx is
	// that of the whole read. Bytes that were damaged end in an error, if the place knows their
	// checksum. The error matches ErrNoObject if there is none.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the objects whose names begin with prefix (<folder>/<begin>, or empty
	// for all), and the leftovers of interrupted writes of such names, in any order. The
	// sequence ends after an error.
	List(ctx context.Context, prefix string) iter.Seq2[Listed, error]
	// URL returns what a record's file column says for that name.
	URL(name string) string
	// Name is the reverse of URL; false if the URL is not of this sink, or
	// names nothing that Create could have made.
	Name(url string) (string, bool)
	// Check proves that objects can be written and deleted, and that nothing is overwritten where the
	// place could ignore that, by doing so with one of a random name.
	Check(ctx context.Context) error
	// Close releases connections. Writers must have ended before.
	Close() error
}

// Writer is an object that is being written. It is used by one goroutine, and ends with Commit or
// Abort; defer Abort even if you call Commit. After an error of Write call only Abort: Commit
// returns that same error.
type Writer interface {
	io.Writer
	// Commit makes the object visible, whole, if none of its name exists. If one
	// does and has the same bytes and metadata, that one is adopted; otherwise
	// the error is ErrConflict. An error of another kind leaves the outcome
	// unknown: writing the same object again finds out. Commit is called once.
	Commit() (Committed, error)
	// Abort gives the object up; after Commit, or a second time, it does nothing.
	Abort()
}
