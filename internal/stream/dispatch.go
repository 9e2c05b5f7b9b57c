package stream

import (
	"context"
	"sync"
)

// part is what one call of Handle gets.
type part struct {
	ctx     context.Context
	entries []Entry
}

// dispatch hands entries to goroutines. One that has ended its part takes the next
// one: its stack has grown to what Handle needs.
func (r *Reader) dispatch(ctx context.Context, handlers *sync.WaitGroup, entries []Entry) {
	for len(entries) > 0 {
		size := 1
		// One that has ended its workers goes alone, and takes no other with it.
		for r.o.Batch && size < len(entries) && entries[size-1].Deliveries <= lonely && entries[size].Deliveries <= lonely {
			size++
		}
		next := part{ctx, entries[:size]}
		entries = entries[size:]
		select {
		case r.parts <- next:
		default:
			handlers.Go(func() {
				for more := true; more; next, more = <-r.parts {
					r.handle(next)
				}
			})
		}
	}
}

func (r *Reader) handle(p part) {
	defer r.finish(p.entries)
	ctx := p.ctx
	if r.o.KeepAlive {
		var stop func()
		ctx, stop = Keep(ctx, r.o.MinIdle, func(ctx context.Context) (bool, error) { return true, r.keep(ctx, p.entries) })
		defer stop()
	}
	r.o.Handle(ctx, p.entries)
}

func (r *Reader) finish(entries []Entry) {
	r.forget(entries)
	r.release(len(entries))
}
