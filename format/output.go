package format

import (
	"fmt"
	"io"
	"sync"
)

// output writes lines in pieces of at least outputBytes, except the last one. It writes a piece
// while the next one is encoded: both cost about the same. It is used by one goroutine at a time,
// and must be closed.
type output struct {
	w       io.Writer
	lines   []byte     // not yet written
	piece   []byte     // being written, or already written
	writing chan error // receives the result of writing piece; nil: nothing is being written
	err     error      // first error
}

// outputBytes is the minimum size of a write.
const outputBytes = 64 << 10

// buffers are reused by later files: most files fit into one.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, outputBytes+4<<10)) }}

// newOutput returns an output to w.
func newOutput(w io.Writer) *output { return &output{w: w, lines: *buffers.Get().(*[]byte)} }

// add writes lines. It keeps the buffer, and returns an empty one.
func (o *output) add(lines []byte) (empty []byte, err error) {
	if len(o.lines) > 0 {
		o.lines, empty = append(o.lines, lines...), lines[:0]
	} else {
		o.lines, empty = lines, o.lines
	}
	if len(o.lines) < outputBytes {
		return empty, nil
	}
	if err := o.close(); err != nil {
		return empty, err
	}
	if o.piece == nil {
		o.piece = *buffers.Get().(*[]byte)
	}
	o.lines, o.piece = o.piece[:0], o.lines
	piece, writing := o.piece, make(chan error, 1)
	o.writing = writing
	go func() { writing <- o.write(piece) }()
	return empty, nil
}

func (o *output) write(lines []byte) error {
	if _, err := o.w.Write(lines); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// flush writes the remaining lines.
func (o *output) flush() error {
	if err := o.close(); err != nil {
		return err
	}
	return o.write(o.lines)
}

// close waits until nothing is being written. It may be called again.
func (o *output) close() error {
	if o.writing != nil {
		o.err = <-o.writing
		o.writing = nil
	}
	return o.err
}

// release returns the buffers for reuse.
func (o *output) release() {
	for _, buffer := range [][]byte{o.lines, o.piece} {
		if size := cap(buffer); size >= outputBytes && size <= 2*outputBytes { // not one that long lines enlarged
			buffers.Put(new(buffer[:0]))
		}
	}
}
