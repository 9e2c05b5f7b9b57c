package format

import (
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/fanfold/fanfold/report"
)

// gzipLevel must not change: a file that is written again must have the same bytes.
const gzipLevel = 6

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzipLevel)
	return z
}}

// packer writes to w: in the container of the format, compressed if the report requires it, and at most
// file.max_bytes.
type packer struct {
	io.Writer
	ends       []io.Closer  // write the rest, in this order
	compressor *gzip.Writer // nil: none
}

// newPacker returns a packer, which the caller must release.
func newPacker(encoder Encoder, f *report.File, w io.Writer) (*packer, error) {
	p := &packer{Writer: w}
	if f.MaxBytes > 0 {
		p.Writer = &limited{w: w, left: f.MaxBytes, max: f.MaxBytes}
	}
	if f.Gzip {
		p.compressor = compressors.Get().(*gzip.Writer)
		p.compressor.Reset(p.Writer)
		p.Writer, p.ends = p.compressor, []io.Closer{p.compressor}
	}
	if container, ok := encoder.(Container); ok {
		inside, err := container.Wrap(p.Writer)
		if err != nil {
			p.release()
			return nil, fmt.Errorf("begin file: %w", err)
		}
		p.Writer, p.ends = inside, append([]io.Closer{inside}, p.ends...)
	}
	return p, nil
}

// close writes the rest of the container, and of the compressed data.
func (p *packer) close() error {
	for _, end := range p.ends {
		if err := end.Close(); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
	}
	return nil
}

// release returns the compressor for reuse. The packer must not be used afterwards.
func (p *packer) release() {
	if p.compressor != nil {
		p.compressor.Reset(nil)
		compressors.Put(p.compressor)
		p.compressor = nil
	}
}

// limited is a writer that refuses bytes beyond file.max_bytes.
type limited struct {
	w         io.Writer
	left, max int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes (file.max_bytes)"+raiseLimit, ErrTooLarge, l.max)
	}
	return l.w.Write(p)
}
