package format

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fanfold/fanfold/report"
)

// ErrTooLarge matches the error of a file with more rows or bytes than its report allows.
var ErrTooLarge = errors.New("file too large")

const raiseLimit = ": narrow the parameters, or raise the limit"

// File is a file that is being written. It writes long rows while the next ones are encoded: both cost
// about the same. AppendRow, of its Encoder, and Buffer are safe for concurrent use; the other methods
// are used by one goroutine at a time.
type File struct {
	Encoder
	maxRows int64  // 0: any
	limit   string // of maxRows, for people
	rows    int64
	split   counter // of the files in an archive
	parts   counter // of the parts of a file
	packer  *packer
	piece   []byte     // being written, or already written
	writing chan error // receives the result of writing piece; nil: nothing is being written
	err     error      // first error of a write
}

// counter counts the rows until something new begins.
type counter struct {
	each int64 // 0: never
	rows int64 // since it began
}

// room returns how many more rows fit, at most n.
func (c *counter) room(n int64) int64 {
	if c.each == 0 {
		return n
	}
	return min(n, c.each-c.rows)
}

// pieceBytes is the size from which rows are written concurrently.
const pieceBytes = 64 << 10

// buffers are reused by later files: without reuse, the file of a small job takes 1.4 times the CPU.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, pieceBytes+4<<10)) }}

func (k Kind) newFile(encoder Encoder, f *report.File, t Title, w io.Writer) (*File, error) {
	packer, err := newPacker(k, encoder, f, t, w)
	if err != nil {
		return nil, err
	}
	file := &File{Encoder: encoder, maxRows: f.MaxRows, limit: "(file.max_rows)" + raiseLimit, packer: packer,
		split: counter{each: f.Split.Rows}, parts: counter{each: k.PartRows}}
	if k.MaxRows > 0 && (f.MaxRows == 0 || f.MaxRows > k.MaxRows) {
		file.maxRows, file.limit = k.MaxRows, "(the maximum of the format "+k.Name+"): narrow the parameters"
	}
	file.header() // the next write returns its error
	return file, nil
}

// header writes the header.
func (f *File) header() {
	header := f.AppendHeader(f.Buffer())
	f.note(f.packer.Write(header))
	free(header)
}

// Buffer returns an empty buffer for rows, which WriteRows keeps.
func (f *File) Buffer() []byte { return *buffers.Get().(*[]byte) }

// WriteRows writes rows that AppendRow returned; ends are where they end in rows. It keeps the buffer
// of rows, and returns an empty one or nil. It returns ErrTooLarge if the file exceeds file.max_rows or
// file.max_bytes. After an error only Abort may be called.
func (f *File) WriteRows(rows []byte, ends []int) (empty []byte, err error) {
	if f.rows += int64(len(ends)); f.maxRows > 0 && f.rows > f.maxRows {
		return nil, fmt.Errorf("%w: more than %d rows %s", ErrTooLarge, f.maxRows, f.limit)
	}
	from := 0
	for {
		n := f.parts.room(f.split.room(int64(len(ends))))
		f.split.rows += n
		f.parts.rows += n
		if n == int64(len(ends)) {
			return f.write(rows[from:])
		}
		if n > 0 {
			if f.wait(); f.err == nil {
				f.note(f.packer.Write(rows[from:ends[n-1]]))
			}
			from, ends = ends[n-1], ends[n:]
		}
		if err := f.next(); err != nil {
			return nil, err
		}
	}
}

// next begins the next file of the archive, or the next part of the file, for rows that do not fit.
func (f *File) next() error {
	f.wait()
	next := f.packer.nextPart
	if f.split.room(1) == 0 {
		footer := f.AppendFooter(f.Buffer(), &Made{})
		f.note(f.packer.Write(footer))
		free(footer)
		f.split.rows = 0
		next = f.packer.nextFile
	}
	f.parts.rows = 0
	if f.err == nil {
		f.note(0, next())
	}
	if f.err == nil {
		f.header()
	}
	return f.err
}

// write writes a piece of the file. It keeps the piece, and returns the one before.
func (f *File) write(piece []byte) (before []byte, err error) {
	if f.wait(); f.err != nil || len(piece) == 0 {
		return piece, f.err
	}
	before, f.piece = f.piece[:0], piece
	if len(piece) < pieceBytes {
		f.note(f.packer.Write(piece))
		return before, f.err
	}
	writing := make(chan error, 1)
	f.writing = writing
	go func() {
		_, err := f.packer.Write(piece)
		writing <- err
	}()
	return before, nil
}

// wait waits until nothing is being written.
func (f *File) wait() {
	if f.writing != nil {
		f.note(0, <-f.writing)
		f.writing = nil
	}
}

// note remembers the error of a write.
func (f *File) note(_ int, err error) {
	if err != nil {
		f.err = fmt.Errorf("write file: %w", err)
	}
}

// free returns a buffer for reuse, but not one that a long row enlarged.
func free(buffer []byte) {
	if size := cap(buffer); size >= pieceBytes && size <= 2*pieceBytes {
		buffers.Put(new(buffer[:0]))
	}
}

// Close writes the rest, and describes the file. It does not close the writer below.
func (f *File) Close() (Made, error) {
	defer f.Abort()
	made := Made{Rows: f.rows}
	f.wait()
	_, _ = f.write(f.AppendFooter(f.piece[:0], &made))
	if f.wait(); f.err != nil {
		return Made{}, f.err
	}
	return made, f.packer.close()
}

// Abort stops writing, and waits until no write is running. After Close it does nothing.
func (f *File) Abort() {
	f.wait()
	free(f.piece)
	f.piece = nil
	f.packer.release()
}
