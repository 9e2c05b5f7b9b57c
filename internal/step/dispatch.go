package step

import (
	"context"
	"sync"
)

// part is what one call of Handle gets.
type part struct {
	ctx     context.Context
	entries []Entry
	alone   bool
}

// dispatch hands entries to goroutines. One that has ended its part takes the next
// one: its stack has grown to what Handle needs.
func (r *Reader) dispatch(ctx context.Context, handlers *sync.WaitGroup, entries []Entry) {
	for len(entries) > 0 {
		next := part{ctx: ctx, alone: r.alone(entries[0])}
		size := 1
		for r.o.Batch && !next.alone && size < len(entries) && !r.alone(entries[size]) {
			size++
		}
		next.entries, entries = entries[:size], entries[size:]
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

// alone tells whether an entry gets a call of its own. One that has ended its workers takes
// no other with it.
func (r *Reader) alone(e Entry) bool {
	return e.Deliveries > lonely || r.o.Alone != nil && r.o.Alone(e)
}

func (r *Reader) handle(p part) {
	defer r.finish(p.entries)
	ctx := p.ctx
	if r.o.KeepAlive && !(p.alone && r.o.Alone != nil) {
		var stop func()
		ctx, stop = Keep(ctx, r.o.MinIdle, func(ctx context.Context) (bool, error) { return true, r.keep(ctx, p.entries) })
		defer stop()
	}
	r.acknowledge(p.ctx, p.entries, r.o.Handle(ctx, p.entries))
}

func (r *Reader) finish(entries []Entry) {
	r.forget(entries)
	r.release(len(entries))
}
