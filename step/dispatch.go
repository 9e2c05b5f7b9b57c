package step

import (
	"context"
	"sync"
)

// part is the input of one call of Handle.
type part struct {
	ctx     context.Context
	entries []Entry
}

// dispatch passes entries to goroutines. A goroutine that has finished a part takes the next one,
// because its stack has already grown to what Handle needs: new goroutines take 1.16 times the CPU of
// a small job.
func (r *Reader) dispatch(ctx context.Context, handlers *sync.WaitGroup, entries []Entry) {
	for i := range entries {
		if r.o.Parse != nil {
			entries[i].Content, entries[i].Leased = r.o.Parse(entries[i])
		}
	}
	for len(entries) > 0 {
		size := 1
		for r.o.Batch && !alone(entries[0]) && size < len(entries) && !alone(entries[size]) {
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

// alone tells whether an entry gets its own call of Handle. An entry that may have crashed its
// workers must not take others down with it.
func alone(e Entry) bool { return e.Leased || e.Deliveries > maxBatched }

func (r *Reader) handle(p part) {
	defer r.finish(p.entries)
	ctx := p.ctx
	if r.o.KeepAlive && !p.entries[0].Leased {
		var stop func()
		ctx, stop = Renew(ctx, r.o.MinIdle,
			func(ctx context.Context) (bool, error) { return true, r.resetIdle(ctx, p.entries) })
		defer stop()
	}
	r.acknowledge(p.ctx, p.entries, r.o.Handle(ctx, p.entries))
}

func (r *Reader) finish(entries []Entry) {
	r.handled.forget(entries)
	r.release(len(entries))
}

// acknowledge acknowledges the entries that need no more work, unless a script has already done so
// together with their effect.
func (r *Reader) acknowledge(ctx context.Context, entries []Entry, results []Result) {
	var done []string
	for i, e := range entries {
		switch err := results[i].Err; results[i].Kind {
		case Void:
			done = append(done, e.ID)
		case Unusable:
			r.o.Log.Warn("quarantined an entry", "stream", r.o.Stream, "entry", e.ID, "why", err)
			// Waiting for memory would block the steps that free it when they end.
			if err := Ensure(ctx, r.o.Log, "quarantine", func() error {
				return r.o.Scripts.Streams.Quarantine(ctx, r.o.Stream, e.ID, e.Fields, err.Error())
			}, UnlessFull); err == nil {
				done = append(done, e.ID)
			}
		case Elsewhere:
			if err != nil && ctx.Err() == nil {
				r.o.Log.Warn("left the entry pending; it is delivered again", "stream", r.o.Stream, "entry", e.ID,
					"job", e.Fields["id"], "err", err)
			}
		}
	}
	if len(done) == 0 {
		return
	}
	// Even in a process that is stopping: finished entries need not be delivered again.
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if err := r.o.Scripts.Streams.Ack(quick, r.o.Stream, done...); err != nil {
		r.o.Log.Warn("could not acknowledge entries; they are delivered again without effect", "stream",
			r.o.Stream, "err", err)
	}
}
