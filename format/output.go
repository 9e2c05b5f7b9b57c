package format

import (
	"fmt"
	"io"
	"sync"
)

// output writes lines in pieces of outputBytes, in a goroutine of its own as soon as there
// is more than one piece: to encode and to write them costs about the same. It is used by one
// goroutine, and must be closed.
type output struct {
	w     io.Writer
	lines []byte // not yet given to the goroutine
	full  chan []byte
	free  chan []byte
	err   error // of the goroutine, which owns it until free is closed
}

// outputBytes are written at once.
const outputBytes = 64 << 10

// buffers are reused by later files: most files are smaller than one.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, outputBytes+4<<10)) }}

// newOutput returns an output to w.
func newOutput(w io.Writer) *output { return &output{w: w, lines: *buffers.Get().(*[]byte)} }

// add writes lines behind those before them, and returns an empty buffer.
func (o *output) add(lines []byte) (empty []byte, err error) {
	if len(o.lines) > 0 {
		o.lines, empty = append(o.lines, lines...), lines[:0]
	} else {
		o.lines, empty = lines, o.lines
	}
	if len(o.lines) < outputBytes {
		return empty, nil
	}
	if o.full == nil {
		o.full, o.free = make(chan []byte), make(chan []byte, 1)
		o.free <- *buffers.Get().(*[]byte)
		go o.write()
	}
	next, ok := <-o.free
	if !ok {
		return empty, o.err
	}
	o.full <- o.lines
	o.lines = next
	return empty, nil
}

// write writes what is full. After an error it ends and closes free.
func (o *output) write() {
	defer close(o.free)
	for lines := range o.full {
		if _, err := o.w.Write(lines); err != nil {
			o.err = fmt.Errorf("format: CSV output: %w", err)
			return
		}
		o.free <- lines[:0]
	}
}

// flush writes what is left after the last line.
func (o *output) flush() error {
	if err := o.close(); err != nil {
		return err
	}
	if _, err := o.w.Write(o.lines); err != nil {
		return fmt.Errorf("format: CSV output: %w", err)
	}
	return nil
}

// close waits until the goroutine has ended. It may be called again.
func (o *output) close() error {
	if o.full != nil {
		close(o.full)
		for empty := range o.free {
			o.keep(empty)
		}
		o.full = nil
	}
	return o.err
}

// keep gives a buffer to later files.
func (o *output) keep(buffer []byte) {
	if cap(buffer) <= 2*outputBytes { // not what one long line has made
		buffer = buffer[:0]
		buffers.Put(&buffer)
	}
}
