package format

import (
	"errors"
	"fmt"
	"io"

	"github.com/fanfold/fanfold/report"
)

// ErrTooLarge matches the error of a file with more rows or bytes than its report allows.
var ErrTooLarge = errors.New("file too large")

const raiseLimit = ": narrow the parameters, or raise the limit"

// File is a file that is being written. AppendRow, of its Encoder, is safe for concurrent use; the
// other methods are used by one goroutine at a time.
type File struct {
	Encoder
	maxRows int64  // 0: any
	limit   string // of maxRows, for people
	rows    int64
	packer  *packer
	out     *output // nil: ended
}

func (k Kind) newFile(encoder Encoder, f *report.File, w io.Writer) (*File, error) {
	packer, err := newPacker(encoder, f, w)
	if err != nil {
		return nil, err
	}
	file := &File{Encoder: encoder, maxRows: f.MaxRows, limit: "(file.max_rows)" + raiseLimit, packer: packer}
	if k.MaxRows > 0 && (f.MaxRows == 0 || f.MaxRows > k.MaxRows) {
		file.maxRows, file.limit = k.MaxRows, "(the maximum of the format "+k.Name+"): narrow the parameters"
	}
	file.out = newOutput(file.packer)
	file.out.lines = encoder.AppendHeader(file.out.lines)
	return file, nil
}

// WriteRows writes rows that AppendRow returned; count is their number. It keeps the buffer, and
// returns an empty one. It returns ErrTooLarge if the file exceeds file.max_rows or file.max_bytes.
// After an error only Abort may be called.
func (f *File) WriteRows(rows []byte, count int64) (empty []byte, err error) {
	if f.rows += count; f.maxRows > 0 && f.rows > f.maxRows {
		return nil, fmt.Errorf("%w: more than %d rows %s", ErrTooLarge, f.maxRows, f.limit)
	}
	return f.out.add(rows)
}

// Close writes the rest, and describes the file. It does not close the writer below.
func (f *File) Close() (Made, error) {
	defer f.Abort()
	made := Made{Rows: f.rows}
	f.out.lines = f.AppendFooter(f.out.lines, &made)
	if err := errors.Join(f.out.flush(), f.packer.close()); err != nil {
		return Made{}, err
	}
	return made, nil
}

// Abort stops writing, and waits until no write is running. After Close it does nothing.
func (f *File) Abort() {
	if f.out == nil {
		return
	}
	_ = f.out.close() // WriteRows or Close has returned its error
	f.out.release()
	f.packer.release()
	f.out = nil
}
