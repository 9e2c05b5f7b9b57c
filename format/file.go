package format

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/fanfold/fanfold/report"
)

// ErrTooLarge matches the error of a file with more rows or bytes than its report allows.
var ErrTooLarge = errors.New("format: file too large")

const raiseLimit = ": narrow the parameters, or raise the limit"

func tooLarge(format string, max int64) error {
	return fmt.Errorf("%w: more than "+format+raiseLimit, ErrTooLarge, max)
}

// gzipLevel must not change: a file that is written again must have the same bytes.
const gzipLevel = 6

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzipLevel)
	return z
}}

// file writes to w: compressed if the report requires it, and at most csv.max_bytes.
type file struct {
	io.Writer
	compressor *gzip.Writer // nil: none
}

// newFile begins a file. The caller must release it.
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

// close writes the rest of the compressed data.
func (f *file) close() error {
	if f.compressor == nil {
		return nil
	}
	if err := f.compressor.Close(); err != nil {
		return fmt.Errorf("format: CSV output: %w", err)
	}
	return nil
}

// release returns the compressor for reuse. The file must not be used afterwards.
func (f *file) release() {
	if f.compressor != nil {
		f.compressor.Reset(nil)
		compressors.Put(f.compressor)
		f.compressor = nil
	}
}

// limited is a writer that refuses bytes beyond csv.max_bytes.
type limited struct {
	w         io.Writer
	left, max int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes (csv.max_bytes)"+raiseLimit, ErrTooLarge, l.max)
	}
	return l.w.Write(p)
}
