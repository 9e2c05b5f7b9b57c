package format

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fanfold/fanfold/report"
	"github.com/klauspost/compress/gzip"
)

// ErrTooLarge is matched by the error of a file that has more rows or bytes than its
// report allows.
var ErrTooLarge = errors.New("format: file too large")

// ErrBytes is ErrTooLarge of a file that has more bytes.
var ErrBytes = fmt.Errorf("%w", ErrTooLarge)

const raiseIt = ": narrow the parameters, or raise it"

// TooLarge is ErrTooLarge, and says why.
func TooLarge(format string, most int64) error {
	return fmt.Errorf("%w: it has more than "+format+raiseIt, ErrTooLarge, most)
}

// gzipLevel is for good: the bytes of a file that is made again must be the same.
const gzipLevel = 6

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzipLevel)
	return z
}}

// File is what a CSV is written to: w, compressed where the CSV is, and as long as it
// may be.
type File struct {
	io.Writer
	compressor *gzip.Writer // nil: none
}

// NewFile begins a file. It must be ended.
func NewFile(c *report.CSV, w io.Writer) *File {
	f := &File{Writer: w}
	if c.MaxBytes > 0 {
		f.Writer = &limited{w: w, left: c.MaxBytes, most: c.MaxBytes}
	}
	if c.Gzip {
		f.compressor = compressors.Get().(*gzip.Writer)
		f.compressor.Reset(f.Writer)
		f.Writer = f.compressor
	}
	return f
}

// Close writes what is left.
func (f *File) Close() error {
	if f.compressor == nil {
		return nil
	}
	if err := f.compressor.Close(); err != nil {
		return fmt.Errorf("format: CSV output: %w", err)
	}
	return nil
}

// End gives the compressor back. The file is not used any more.
func (f *File) End() {
	if f.compressor != nil {
		f.compressor.Reset(nil)
		compressors.Put(f.compressor)
		f.compressor = nil
	}
}

// limited refuses what is more than a file may have.
type limited struct {
	w          io.Writer
	left, most int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("%w: it has more than %d bytes, which is csv.max_bytes"+raiseIt, ErrBytes, l.most)
	}
	return l.w.Write(p)
}
