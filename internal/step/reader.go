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

// Entry is one message.
type Entry struct {
	ID         string
	Fields     map[string]string
	Deliveries int64 // how often it was given to a worker, with this time
}

// lonely is how many deliveries are in company of others, where Batch is set.
const lonely = 3

// Options configures a Reader.
type Options struct {
	Redis    redis.UniversalClient // for blocking reads: a client that nothing else waits for
	Scripts  *scripts.Scripts      // acknowledges, and quarantines
	Shared   *Shared               // reads for this and others with one connection; nil: this has its own
	Stream   string
	Consumer string // unique for this process
	// Slots is how many entries are under way at once.
	Slots int
	// MinIdle is the silence after which another consumer's entry is taken over.
	MinIdle time.Duration
	// Batch hands all entries of a read to one call of Handle; otherwise each gets
	// a call of its own.
	Batch bool
	// Alone, if set, tells which entries of a batch get a call of their own, without
	// KeepAlive: their handler has a lease.
	Alone func(Entry) bool
	// Admit, if set, is asked before each read how many entries may be read now.
	Admit func(ctx context.Context) (int, error)
	// Handle works on entries, and returns what came of each. An entry that is neither
	// acknowledged nor handed on is delivered again after MinIdle, here or elsewhere. Handle
	// runs in a goroutine of its own and ends soon after its context, whose cause is
	// ErrStopping if the reader was told to stop and its patience is over.
	Handle func(ctx context.Context, entries []Entry) []Result
	// Patience is how long calls of Handle may go on after Run was told to stop.
	Patience time.Duration
	// KeepAlive keeps entries from being taken over while Handle works on them. It
	// is for handlers that have no lease of their own.
	KeepAlive bool
	Log       *slog.Logger
}

// Reader reads one stream.
type Reader struct {
	o      Options
	free   chan struct{} // a token for each free slot
	parts  chan part     // to a goroutine that has ended its part
	tidied time.Time

	mu      sync.Mutex
	working map[string]bool // ids that are under way here
	suspect string          // the one of them that may have ended its workers; empty: none
}

// New returns a Reader. It does no I/O.
func New(o Options) *Reader {
	r := &Reader{o: o, free: make(chan struct{}, o.Slots), parts: make(chan part), working: map[string]bool{}}
	for range o.Slots {
		r.free <- struct{}{}
	}
	return r
}

// ErrStopping is the cause of the end of a handler's context in a reader that
// stops.
var ErrStopping = errors.New("step: stopping")

// Run may be called once. It reads until ctx ends and all calls of Handle have
// returned, and returns nil. An outage of Redis is waited out.
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
	var shown, takeOver time.Time // when it was shown last, and when to take over next
	rest := false                 // some wait for the end of one that may have ended its workers
	said := ""                    // the last error: an outage is said once, and its end
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
		if err == nil && (time.Now().After(takeOver) || rest && r.mayTakeRest()) {
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
			if said != "" {
				r.o.Log.Info("reading again", "stream", r.o.Stream)
			}
			said = ""
			pause.Reset()
			continue
		}
		if err = r.heal(ctx, err); err != nil && ctx.Err() == nil {
			if said != err.Error() {
				r.o.Log.Warn("read stream; trying again until it works", "stream", r.o.Stream, "err", err)
			}
			said = err.Error()
			// Where Redis was away, those who work could not say so: they are given the
			// time to come back before anything is taken over from them.
			takeOver, rest = time.Now().Add(r.o.MinIdle/2), false
			_ = Wait(ctx, pause.NextBackOff())
		}
	}
	return nil
}

// acquire takes at least one slot, waiting for it, and as many more as are free
// and admitted.
func (r *Reader) acquire(ctx context.Context) (int, error) {
	select {
	case <-r.free:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if len(r.free) < r.o.Slots/4 {
		_ = Wait(ctx, gather)
	}
	most := r.o.Slots
	if r.o.Admit != nil {
		n, err := r.o.Admit(ctx)
		n -= r.o.Slots - 1 - len(r.free) // what is under way here does not count there yet
		if err != nil || n <= 0 {
			r.release(1)
			return 0, err
		}
		most = min(most, n)
	}
	for n := 1; ; n++ {
		if n == most {
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
		return r.entries(messages), err
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
	return r.entries(streams[0].Messages), nil
}

// forget unmarks entries that are not handled after all.
func (r *Reader) forget(entries []Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		delete(r.working, e.ID)
		if r.suspect == e.ID {
			r.suspect = ""
		}
	}
}

// entries converts messages and marks them as under way; those that are so
// already are left out.
func (r *Reader) entries(messages []redis.XMessage) []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	var entries []Entry
	for _, m := range messages {
		if r.working[m.ID] {
			continue
		}
		r.working[m.ID] = true
		e := Entry{ID: m.ID, Deliveries: 1, Fields: make(map[string]string, len(m.Values))}
		for k, v := range m.Values {
			e.Fields[k], _ = v.(string)
		}
		entries = append(entries, e)
	}
	return entries
}

// tidy removes consumers that are gone, once a minute.
func (r *Reader) tidy(ctx context.Context) {
	if time.Since(r.tidied) < time.Minute {
		return
	}
	r.tidied = time.Now()
	if err := r.o.Scripts.Streams.Tidy(ctx, r.o.Stream); err != nil && ctx.Err() == nil {
		r.o.Log.Warn("tidy stream; trying again in a minute", "stream", r.o.Stream, "err", err)
	}
}

// heal makes the group if err says that it is missing, from the first entry on: one made
// at the end would miss what was pushed before. It returns what is still wrong.
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

// leave removes this consumer, unless an entry is pending for it.
func (r *Reader) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = r.o.Scripts.Streams.Leave(ctx, r.o.Stream, r.o.Consumer)
}
