package format

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/fanfold/fanfold/report"
)

// ErrTooLarge is matched by the error of a file that has more rows or bytes than its
// report allows.
var ErrTooLarge = errors.New("format: file too large")

const raiseIt = ": narrow the parameters, or raise it"

func tooLarge(format string, max int64) error {
	return fmt.Errorf("%w: it has more than "+format+raiseIt, ErrTooLarge, max)
}

// gzipLevel never changes: a file that is made again must have the same bytes.
const gzipLevel = 6

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzipLevel)
	return z
}}

// file is what lines are written to: w, compressed where the report says so, and limited to
// csv.max_bytes.
type file struct {
	io.Writer
	compressor *gzip.Writer // nil: none
}

// newFile begins a file. It must be ended.
func newFile(c *report.CSV, w io.Writer) *file {
	f := &file{Writer: w}
	if c.MaxBytes > 0 {
		f.Writer = &limited{w: w, left: c.MaxBytes, max: c.MaxBytes}
	}
	if c.Gzip {
		f.compressor = compressors.Get().(*gzip.Writer)
		f.compressor.Reset(f.Writer)
		f.Writer = f.compressor
	}
	return f
}

// close writes what is left.
func (f *file) close() error {
	if f.compressor == nil {
		return nil
	}
	if err := f.compressor.Close(); err != nil {
		return fmt.Errorf("format: CSV output: %w", err)
	}
	return nil
}

// end gives the compressor back. The file is not used any more.
func (f *file) end() {
	if f.compressor != nil {
		f.compressor.Reset(nil)
		compressors.Put(f.compressor)
		f.compressor = nil
	}
}

// limited refuses the bytes beyond csv.max_bytes.
type limited struct {
	w         io.Writer
	left, max int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("%w: it has more than %d bytes, which is csv.max_bytes"+raiseIt, ErrTooLarge, l.max)
	}
	return l.w.Write(p)
}
