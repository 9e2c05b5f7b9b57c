package step

import (
	"context"
	"errors"
	"sync"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// part is the input of one call of Handle.
type part struct {
	ctx     context.Context
	entries []Entry
	alone   bool
}

// dispatch passes entries to goroutines. A goroutine that has finished a part takes the next one,
// because its stack has already grown to what Handle needs.
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

// alone tells whether an entry gets its own call of Handle. An entry that may have crashed its
// workers must not take others down with it.
func (r *Reader) alone(e Entry) bool {
	return e.Deliveries > maxBatched || r.o.Alone != nil && r.o.Alone(e)
}

func (r *Reader) handle(p part) {
	defer r.finish(p.entries)
	ctx := p.ctx
	if r.o.KeepAlive && !(p.alone && r.o.Alone != nil) {
		var stop func()
		ctx, stop = Renew(ctx, r.o.MinIdle, func(ctx context.Context) (bool, error) { return true, r.resetIdle(ctx, p.entries) })
		defer stop()
	}
	r.acknowledge(p.ctx, p.entries, r.o.Handle(ctx, p.entries))
}

func (r *Reader) finish(entries []Entry) {
	r.forget(entries)
	r.release(len(entries))
}

// acknowledge acknowledges the entries that need no more work, unless a script has already done so
// together with their effect.
func (r *Reader) acknowledge(ctx context.Context, entries []Entry, results []Result) {
	var done []string
	// Even in a process that is stopping: finished entries need not be delivered again.
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	for i, e := range entries {
		v := Decide(results[i], 1, report.Retry{})
		switch v.Act {
		case Quarantine:
			r.o.Log.Warn("quarantined an entry", "stream", r.o.Stream, "entry", e.ID, "why", v.Err)
			if err := Insist(ctx, r.o.Log, "quarantine", func() error {
				err := r.o.Scripts.Streams.Quarantine(ctx, r.o.Stream, e.ID, e.Fields, v.Err.Error())
				if errors.Is(err, scripts.ErrFull) {
					return Final(err) // waiting would block the steps that free memory when they end
				}
				return err
			}); err != nil {
				continue
			}
			done = append(done, e.ID)
		case Acknowledge:
			done = append(done, e.ID)
		case Leave:
			if v.Err != nil && ctx.Err() == nil {
				r.o.Log.Warn("left the entry pending; it is delivered again", "stream", r.o.Stream, "entry", e.ID, "job", e.Fields["id"], "err", v.Err)
			}
		}
	}
	if err := r.o.Scripts.Streams.Ack(quick, r.o.Stream, done...); err != nil {
		r.o.Log.Warn("could not acknowledge entries; they are delivered again without effect", "stream", r.o.Stream, "err", err)
	}
}
