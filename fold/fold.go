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
	// the file: the JSON of a value of Plan.Columns()[origin], or nil for NULL. The cells are
	// valid until it returns. It is safe for concurrent use.
	AppendRow(dst []byte, origin int, cells [][]byte) ([]byte, error)
	// Buffer returns an empty buffer for AppendRow. It is safe for concurrent use.
	Buffer() []byte
	// WriteRows writes rows that AppendRow returned, in the order of the file; count is their
	// number. It keeps the buffer, and returns an empty one or nil. It is used by one goroutine
	// at a time.
	WriteRows(rows []byte, count int64) (empty []byte, err error)
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

// Fold joins the datasets and passes the rows to w. It reads all datasets but the first of the
// join into memory. Those that exceed the budget are merged if they and the first one are
// sorted by the key; otherwise their rows go through a scratch file. The first error of a
// dataset, of the scratch file or of w ends the fold and is returned, wrapped; so does the end of ctx. It returns a
// Match for every dataset of a join after the first; the budget does not change them.
func (p *Plan) Fold(ctx context.Context, w Writer, b Budget) (matches []Match, err error) {
	defer op.Protect(&err)
	m := op.NewMemory(ctx, b.Bytes, b.Scratch)
	defer m.Close()
	if p.query != nil {
		return nil, p.query.Run(m, selectOut{p.newOut(w)})
	}
	return p.join(w).Run(m)
}

func (p *Plan) join(w Writer) *op.Join {
	j := &op.Join{Count: true, Terms: func() op.Terms { return &terms{newKeyer(p.comparisons), p.newOut(w)} }}
	for _, in := range p.inputs {
		j.Tables = append(j.Tables, &in.Table)
	}
	return j
}

// terms are those of a join.
type terms struct {
	*keyer
	*out
}

var _ op.Terms = (*terms)(nil)

// Left returns the key of a row of the origin: its matches have the same one.
func (t *terms) Left(origin, _ int, row op.Row) (op.Key, bool, error) {
	in := t.plan.inputs[origin]
	k, ok := t.find(row[in.at:], in.keys)
	return k, ok, nil
}

// Right implements op.Terms.
func (t *terms) Right(n int, row op.Row) (op.Key, bool, error) {
	k, ok := t.find(row, t.plan.inputs[n].keys)
	return k, ok, nil
}

// Keep implements op.Terms.
func (t *terms) Keep(int, op.Row) (bool, error) { return true, nil }

// Matches implements op.Terms.
func (t *terms) Matches(int, op.Row) (bool, error) { return true, nil }
