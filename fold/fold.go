package fold

import (
	"context"

	"github.com/fanfold/fanfold/fold/op"
)

// Dataset is the result of one listener. It is safe for concurrent use.
type Dataset = op.Dataset

// Scratch is a temporary file of one fold.
type Scratch = op.Scratch

// Match counts how the rows of a listener of a join meet those of the first one.
type Match = op.Match

// Writer writes the file. An error ends the fold.
type Writer interface {
	// AppendRow appends a row in the format of the file. It takes one cell for every column of
	// the file: the JSON of a value of Plan.Columns(), or nil for NULL. The cells are valid until
	// it returns. It is safe for concurrent use.
	AppendRow(dst []byte, cells [][]byte) ([]byte, error)
	// Buffer returns an empty buffer for AppendRow. It is safe for concurrent use.
	Buffer() []byte
	// WriteRows writes rows that AppendRow returned, in the order of the file; ends are where they
	// end in rows. It keeps the buffer of rows, and returns an empty one or nil. It is used by one
	// goroutine at a time.
	WriteRows(rows []byte, ends []int) (empty []byte, err error)
}

// Budget limits the memory of a fold.
type Budget struct {
	// Maximum bytes of rows in memory, of all datasets together; 0 is no limit. A fold uses a
	// few MB more, and a row is never split.
	Bytes int64
	// Scratch creates a file. It is called at most once, if Bytes is not enough; the fold
	// closes the file.
	Scratch func() (Scratch, error)
}

// Fold runs the SELECT and passes its rows to w. Of a join, it reads all datasets but the first
// into memory. Those that exceed the budget are merged if they and the first one are sorted by the
// key; otherwise their rows go through a scratch file. The first error of a dataset, of the scratch
// file or of w ends the fold and is returned, wrapped; so does the end of ctx. That of
// an expression names its place in the SELECT. The matches are those
// of query.Plan.Run; the budget does not change them. A Plan is used by one goroutine at a time.
func (p *Plan) Fold(ctx context.Context, w Writer, b Budget) (matches []Match, err error) {
	defer op.Protect(&err)
	m := op.NewMemory(ctx, b.Bytes, b.Scratch)
	defer m.Close()
	matches, err = p.query.Run(m, p.newOut(w, nil))
	return matches, p.inRow(err)
}
