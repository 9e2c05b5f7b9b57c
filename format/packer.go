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

// packer writes to w: in the container of the format, compressed or archived as the report requires, and
// at most file.max_bytes.
type packer struct {
	io.Writer              // of the rows
	body      io.Writer    // of the file of the format
	container Container    // nil: the rows are the file
	inside    io.Closer    // of the container; nil: none is open
	archive   *archive     // nil: none
	zip       *gzip.Writer // nil: none
	title     Title
}

// newPacker returns a packer, which the caller must release.
func newPacker(k Kind, encoder Encoder, f *report.File, t Title, w io.Writer) (*packer, error) {
	p := &packer{body: w, title: t}
	p.container, _ = encoder.(Container)
	if f.MaxBytes > 0 {
		p.body = &limited{w: w, left: f.MaxBytes, max: f.MaxBytes}
	}
	switch f.Compress {
	case report.Gzip:
		p.zip = compressors.Get().(*gzip.Writer)
		p.zip.Reset(p.body)
		p.body = p.zip
	case report.Zip:
		p.archive = newArchive(p.body, t.Name, k.Extension, f.Split.Rows > 0)
	}
	if err := p.begin(); err != nil {
		p.release()
		return nil, fmt.Errorf("begin file: %w", err)
	}
	return p, nil
}

// begin begins a file of the format.
func (p *packer) begin() (err error) {
	if p.archive != nil {
		if p.body, err = p.archive.next(); err != nil {
			return err
		}
	}
	p.Writer = p.body
	if p.container == nil {
		return nil
	}
	inside, err := p.container.Wrap(p.body, p.title)
	p.Writer, p.inside = inside, inside
	return err
}

// end writes the rest of a file of the format.
func (p *packer) end() error {
	if p.inside == nil {
		return nil
	}
	inside := p.inside
	p.inside = nil
	return inside.Close()
}

// nextFile ends the file of the format and begins the next one in the archive.
func (p *packer) nextFile() error {
	if err := p.end(); err != nil {
		return err
	}
	return p.begin()
}

// nextPart begins the next part of the container.
func (p *packer) nextPart() error {
	parted, ok := p.inside.(Parted)
	if !ok {
		return fmt.Errorf("a writer of Go type %T has no parts", p.inside)
	}
	return parted.Next()
}

// close writes the rest of the container, and of the compressed data.
func (p *packer) close() error {
	err := p.end()
	if err == nil && p.archive != nil {
		err = p.archive.Close()
	}
	if err == nil && p.zip != nil {
		err = p.zip.Close()
	}
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// release returns the compressor for reuse. The packer must not be used afterwards.
func (p *packer) release() {
	if p.zip != nil {
		p.zip.Reset(nil)
		compressors.Put(p.zip)
		p.zip = nil
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
