package step

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// block is how long one read waits for entries. It bounds how long a stop takes.
const block = time.Second

// Entry is an entry that a Reader has read.
type Entry struct {
	scripts.Entry
	Content any  // from Options.Parse
	Leased  bool // the same: its handler has a lease
}

// maxBatched is the maximum number of deliveries together with other entries, if Batch is set.
const maxBatched = 3

// Options configures a Reader.
type Options struct {
	Redis    redis.UniversalClient // for blocking reads: a client that nothing else uses
	Scripts  *scripts.Scripts      // acknowledges and quarantines
	Shared   *Shared               // reads for several Readers over one connection; nil: a connection of its own
	Stream   string
	Consumer string // unique per process
	// Slots is the maximum number of entries that are handled at once.
	Slots int
	// MinIdle is how long an entry of another consumer must be idle before it is taken over.
	MinIdle time.Duration
	// Batch passes all entries of a read to one call of Handle; otherwise every entry gets its own
	// call.
	Batch bool
	// Parse, if set, returns the content of an entry, once per delivery, and whether the entry gets
	// its own call of Handle, without KeepAlive, because the handler has a lease.
	Parse func(Entry) (content any, leased bool)
	// Admit, if set, returns how many entries may be read now. It is called before every read.
	Admit func(ctx context.Context) (int, error)
	// Handle handles entries and returns for each how it ended: Done, Moved, Void, Unusable or
	// Elsewhere. An entry that is neither acknowledged
	// nor replaced is delivered again after MinIdle, here or elsewhere. Handle runs in its own
	// goroutine and returns soon after its context ends. The cause is ErrStopping if the reader was
	// told to stop and Patience is over.
	Handle func(ctx context.Context, entries []Entry) []Result
	// Patience is how long calls of Handle may continue after Run was told to stop.
	Patience time.Duration
	// KeepAlive keeps entries from being taken over while Handle works on them. It is for handlers
	// without a lease of their own.
	KeepAlive bool
	Log       *slog.Logger
}

// Reader reads one stream.
type Reader struct {
	o       Options
	free    chan struct{} // one token per free slot
	parts   chan part     // to a goroutine that has finished its part
	tidied  time.Time
	handled handled
}

// New returns a Reader. It does no I/O.
func New(o Options) *Reader {
	r := &Reader{o: o, free: make(chan struct{}, o.Slots), parts: make(chan part),
		handled: handled{stream: o.Stream, consumer: o.Consumer, ids: map[string]bool{}}}
	for range o.Slots {
		r.free <- struct{}{}
	}
	return r
}

// ErrStopping is the cause of a handler's context that ended because the reader is stopping.
var ErrStopping = errors.New("step: stopping")

// Run reads until ctx ends and all calls of Handle have returned, and then returns nil. It waits
// for the end of an outage of Redis. It may be called once.
func (r *Reader) Run(ctx context.Context) error {
	work, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(ErrStopping)
	var handlers sync.WaitGroup
	defer r.leave(ctx)
	defer func() {
		impatient := time.AfterFunc(r.o.Patience, func() { end(ErrStopping) })
		defer impatient.Stop()
		close(r.parts)
		handlers.Wait()
	}()
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 20*time.Millisecond, 2*time.Second
	var shown, takeOver time.Time // the last call of show, and the next take-over
	rest := false                 // some entries wait until one that may have crashed its workers has ended
	logged := ""                  // the last error, so that an outage is logged once, and its end
	for ctx.Err() == nil {
		slots, err := r.acquire(ctx)
		var entries []Entry
		if err == nil && time.Since(shown) > block {
			if err = r.show(ctx); err == nil {
				shown = time.Now()
			}
		}
		if err == nil && slots == 0 {
			_ = Wait(ctx, 20*time.Millisecond)
			continue
		}
		if err == nil && (time.Now().After(takeOver) || rest && r.handled.mayTakeRest()) {
			entries, rest, err = r.takeOver(ctx, slots)
			if len(entries) < slots { // otherwise there may be more
				takeOver = time.Now().Add(r.o.MinIdle / 2)
			}
		}
		if err == nil && len(entries) == 0 {
			block := block
			if rest {
				block = shortBlock
			}
			entries, err = r.read(ctx, slots, block)
		}
		r.release(slots - len(entries))
		r.dispatch(work, &handlers, entries)
		if err == nil {
			r.tidy(ctx)
			if logged != "" {
				r.o.Log.Info("the stream can be read again", "stream", r.o.Stream)
			}
			logged = ""
			pause.Reset()
			continue
		}
		if err = r.heal(ctx, err); err != nil && ctx.Err() == nil {
			if logged != err.Error() {
				r.o.Log.Warn("could not read the stream; will try again", "stream", r.o.Stream, "err", err)
			}
			logged = err.Error()
			// During an outage of Redis, workers could not renew their entries. Give them time to
			// do so before taking over any.
			takeOver, rest = time.Now().Add(r.o.MinIdle/2), false
			_ = Wait(ctx, pause.NextBackOff())
		}
	}
	return nil
}

// acquire takes slots: it waits for the first one, and takes as many more as are free and admitted.
func (r *Reader) acquire(ctx context.Context) (int, error) {
	select {
	case <-r.free:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if len(r.free) < r.o.Slots/4 {
		_ = Wait(ctx, gather)
	}
	limit := r.o.Slots
	if r.o.Admit != nil {
		n, err := r.o.Admit(ctx)
		n -= r.o.Slots - 1 - len(r.free) // Admit does not count entries that are handled here
		if err != nil || n <= 0 {
			r.release(1)
			return 0, err
		}
		limit = min(limit, n)
	}
	for n := 1; ; n++ {
		if n == limit {
			return n, nil
		}
		select {
		case <-r.free:
		default:
			return n, nil
		}
	}
}

func (r *Reader) release(n int) {
	for range n {
		r.free <- struct{}{}
	}
}

func (r *Reader) read(ctx context.Context, count int, block time.Duration) ([]Entry, error) {
	if r.o.Shared != nil {
		messages, err := r.o.Shared.read(ctx, r.o.Stream, count)
		return r.handled.add(messages), err
	}
	streams, err := r.o.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: scripts.Group, Consumer: r.o.Consumer, Streams: []string{r.o.Stream, ">"},
		Count: int64(count), Block: block,
	}).Result()
	if err != nil || len(streams) == 0 {
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return nil, err
	}
	return r.handled.add(streams[0].Messages), nil
}

// tidy removes dead consumers, once a minute.
func (r *Reader) tidy(ctx context.Context) {
	if time.Since(r.tidied) < time.Minute {
		return
	}
	r.tidied = time.Now()
	if _, err := r.o.Scripts.Streams.RemoveIdleConsumers(ctx, r.o.Stream, scripts.MaxIdle); err != nil &&
		ctx.Err() == nil {
		r.o.Log.Warn("could not remove dead consumers; will try again in a minute", "stream", r.o.Stream, "err", err)
	}
}

// heal creates the consumer group if err says that it is missing. The group starts at the first
// entry: starting at the end would miss earlier pushes. It returns the error that remains.
func (r *Reader) heal(ctx context.Context, err error) error {
	if !redis.HasErrorPrefix(err, "NOGROUP") {
		return err
	}
	err = r.o.Redis.XGroupCreateMkStream(ctx, r.o.Stream, scripts.Group, "0").Err()
	if redis.HasErrorPrefix(err, "BUSYGROUP") {
		return nil
	}
	return err
}

// leave removes this consumer unless it has pending entries.
func (r *Reader) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = r.o.Scripts.Streams.RemoveConsumer(ctx, r.o.Stream, r.o.Consumer)
}
