package fold

import "github.com/fanfold/fanfold/dataset"

// ahead reads a dataset two chunks ahead of whoever uses it, in a goroutine of its
// own: what it reads and decodes costs about as much as the rest of a fold. The
// first two calls are direct, since most datasets have one chunk.
type ahead struct {
	dataset Dataset
	direct  int           // calls
	read    chan read     // nil until the goroutine runs
	stop    chan struct{} // closed to end it
	ended   chan struct{}
	last    error // after which there is no chunk
}

// read is what a call of Next has returned.
type read struct {
	chunk *dataset.Chunk
	err   error
}

// next is Next of the dataset.
func (a *ahead) next() (*dataset.Chunk, error) {
	if a.last != nil {
		return nil, a.last
	}
	var r read
	if a.direct < 2 {
		a.direct++
		r.chunk, r.err = a.dataset.Next()
	} else {
		if a.read == nil {
			a.start()
		}
		r = <-a.read
	}
	a.last = r.err
	return r.chunk, r.err
}

func (a *ahead) start() {
	a.read, a.stop, a.ended = make(chan read, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(a.ended)
		for {
			var r read
			r.chunk, r.err = a.dataset.Next()
			select {
			case a.read <- r:
			case <-a.stop:
				return
			}
			if r.err != nil {
				return
			}
		}
	}()
}

// close waits until the dataset is not used any more.
func (a *ahead) close() {
	if a.read != nil {
		close(a.stop)
		<-a.ended
	}
}
