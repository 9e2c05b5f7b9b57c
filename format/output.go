package format

import (
	"fmt"
	"io"
	"sync"
)

// Output writes a file in pieces, in a goroutine of its own as soon as there is
// more than one: making Lines and writing them cost about the same. It is used by
// one goroutine, and must be closed.
type Output struct {
	w     io.Writer
	Lines []byte // that are not yet given away
	full  chan []byte
	free  chan []byte
	err   error // of the writing; it is the goroutine's until free is closed
}

// outputBytes are written at once.
const outputBytes = 64 << 10

// buffers are of files that have ended: most files are smaller than one.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, outputBytes+4<<10)) }}

// NewOutput returns an Output to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w, Lines: *buffers.Get().(*[]byte)} }

// Ended takes note that Lines has grown by a line.
func (o *Output) Ended() error {
	if len(o.Lines) < outputBytes {
		return nil
	}
	if o.full == nil {
		o.full, o.free = make(chan []byte), make(chan []byte, 1)
		o.free <- *buffers.Get().(*[]byte)
		go o.write()
	}
	empty, ok := <-o.free
	if !ok {
		return o.err
	}
	o.full <- o.Lines
	o.Lines = empty
	return nil
}

// write takes what is full until there is no more. After an error it takes nothing,
// and free is closed.
func (o *Output) write() {
	defer close(o.free)
	for Lines := range o.full {
		if _, err := o.w.Write(Lines); err != nil {
			o.err = fmt.Errorf("format: CSV output: %w", err)
			return
		}
		o.free <- Lines[:0]
	}
}

// Flush writes what is left. It comes after the last line.
func (o *Output) Flush() error {
	if err := o.Close(); err != nil {
		return err
	}
	if _, err := o.w.Write(o.Lines); err != nil {
		return fmt.Errorf("format: CSV output: %w", err)
	}
	return nil
}

// Close waits until w is not used any more, and may be called again.
func (o *Output) Close() error {
	if o.full != nil {
		close(o.full)
		for empty := range o.free {
			o.Keep(empty)
		}
		o.full = nil
	}
	return o.err
}

// Keep gives a buffer to later files.
func (o *Output) Keep(buffer []byte) {
	if cap(buffer) <= 2*outputBytes { // not what one long line has made
		buffer = buffer[:0]
		buffers.Put(&buffer)
	}
}
