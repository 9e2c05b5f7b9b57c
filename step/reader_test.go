package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

const group = scripts.Group

// handles is a handler that acknowledges by itself.
func handles(f func(context.Context, []Entry)) func(context.Context, []Entry) []Result {
	return func(ctx context.Context, entries []Entry) []Result {
		f(ctx, entries)
		return make([]Result, len(entries))
	}
}

// TestPoisonDoesNotWait: those that were put back come as soon as there is room,
// not one for each silence, or for each read that waits.
func TestPoisonDoesNotWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Batch, b.options.KeepAlive, b.options.MinIdle = true, true, time.Minute
	const n = 100
	for i := range n {
		b.add(fmt.Sprint(i))
	}
	if err := b.client.XGroupCreate(t.Context(), b.options.Stream, group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	read := b.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "dead", Streams: []string{b.options.Stream, ">"}}).Val()
	for _, m := range read[0].Messages {
		if err := b.client.Do(t.Context(), "XCLAIM", b.options.Stream, group, "dead", 0, m.ID,
			"IDLE", time.Hour.Milliseconds(), "RETRYCOUNT", maxBatched).Err(); err != nil {
			t.Fatal(err)
		}
	}
	defer b.run()()
	b.until("all", func() bool { return len(b.seen) == n })
}

// bundle is a stream of the test's own, and a reader's options for it.
type bundle struct {
	t       *testing.T
	client  *redis.Client
	options Options

	mu   sync.Mutex
	seen map[string]int // entries by their field n
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, client: testmain.SharedRedis(t).Client(), seen: map[string]int{}}
	t.Cleanup(func() { _ = b.client.Close() })
	b.options = Options{
		Redis: b.client, Scripts: scripts.New(scripts.Options{Redis: b.client}), Stream: testmain.Name(t), Consumer: "c1",
		Slots: 10, MinIdle: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Handle: handles(func(ctx context.Context, entries []Entry) {
			for _, e := range entries {
				b.saw(e)
				b.ack(e)
			}
		}),
	}
	return b
}

func (b *bundle) saw(e Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[e.Fields["n"]]++
}

func (b *bundle) ack(e Entry) {
	if err := b.client.XAck(context.Background(), b.options.Stream, group, e.ID).Err(); err != nil {
		b.t.Error(err)
	}
}

func (b *bundle) add(values ...string) {
	b.t.Helper()
	for _, v := range values {
		if err := b.client.XAdd(b.t.Context(), &redis.XAddArgs{Stream: b.options.Stream, Values: []string{"n", v}}).Err(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// run starts a reader and returns what stops it. One without batches reads as those of
// listeners do, over a Shared.
func (b *bundle) run() (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	end := func() {}
	if o := &b.options; !o.Batch {
		o.Shared, end = share(o.Redis, o.Consumer, 1)
	}
	reader := New(b.options)
	go func() { done <- reader.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
		end()
	})
}

// share starts a Shared, and returns what ends it.
func share(client redis.UniversalClient, consumer string, readers int) (s *Shared, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s = NewShared(client, consumer, readers)
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	return s, func() {
		cancel()
		running.Wait()
	}
}

func (b *bundle) until(what string, holds func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		b.mu.Lock()
		ok := holds()
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-deadline.C:
			b.t.Fatalf("not within 20 s: %s; seen: %v", what, b.seen)
		case <-tick.C:
		}
	}
}

func TestEntriesFromBeforeTheGroupAreRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add("early")
	defer b.run()()
	b.until("early entry", func() bool { return b.seen["early"] == 1 })
	// The group and the stream are lost while the reader runs.
	if err := b.client.Del(t.Context(), b.options.Stream).Err(); err != nil {
		t.Fatal(err)
	}
	b.add("late")
	b.until("entry of the new stream", func() bool { return b.seen["late"] == 1 })
}

func TestSlotsBoundWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Slots = 3
	var now, most atomic.Int64
	gate := make(chan struct{})
	b.options.Handle = handles(func(_ context.Context, entries []Entry) {
		most.Store(max(most.Load(), now.Add(int64(len(entries)))))
		b.saw(entries[0])
		<-gate
		b.ack(entries[0])
		now.Add(-1)
	})
	b.add("1", "2", "3", "4", "5", "6", "7")
	stop := b.run()
	defer stop()
	b.until("three under way", func() bool { return len(b.seen) == 3 })
	if pending := b.client.XPending(t.Context(), b.options.Stream, group).Val().Count; pending != 3 {
		t.Errorf("%d entries were read for 3 slots", pending)
	}
	close(gate)
	b.until("all", func() bool { return len(b.seen) == 7 })
	if most.Load() > 3 {
		t.Errorf("%d at once", most.Load())
	}
}

func TestAdmitBoundsWhatIsRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var room atomic.Int64
	b.options.Batch = true
	b.options.Admit = func(context.Context) (int, error) { return int(room.Load()), nil }
	var sizes []int
	b.options.Handle = handles(func(_ context.Context, entries []Entry) {
		room.Add(-int64(len(entries)))
		b.mu.Lock()
		sizes = append(sizes, len(entries))
		b.mu.Unlock()
		for _, e := range entries {
			b.saw(e)
			b.ack(e)
		}
	})
	room.Store(2)
	b.add("1", "2", "3", "4", "5")
	defer b.run()()
	b.until("two", func() bool { return len(b.seen) == 2 })
	room.Store(9)
	b.until("all", func() bool { return len(b.seen) == 5 })
	if sizes[0] != 2 || sizes[1] != 3 {
		t.Errorf("batches of %v, not of 2 and 3", sizes)
	}
}

func TestEntriesOfASilentConsumerAreTakenOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add("1", "2", "3")
	if err := b.client.XGroupCreate(t.Context(), b.options.Stream, group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := b.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{
		Group: group, Consumer: "dead", Streams: []string{b.options.Stream, ">"}, Count: 2,
	}).Err(); err != nil {
		t.Fatal(err)
	}
	defer b.run()()
	b.until("all three", func() bool { return len(b.seen) == 3 })
}

func TestWhatIsNotAcknowledgedComesAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Handle = handles(func(_ context.Context, entries []Entry) {
		b.saw(entries[0])
		b.mu.Lock()
		again := b.seen["1"] > 1
		b.mu.Unlock()
		if again {
			b.ack(entries[0])
		}
	})
	b.add("1")
	defer b.run()()
	b.until("a second time", func() bool { return b.seen["1"] == 2 })
}

func TestAnEntryUnderWayIsNotTakenOverByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gate := make(chan struct{})
	b.options.Handle = handles(func(_ context.Context, entries []Entry) {
		b.saw(entries[0])
		if entries[0].Fields["n"] == "long" {
			<-gate
		}
		b.ack(entries[0])
	})
	b.add("long")
	stop := b.run()
	defer stop()
	b.until("long", func() bool { return b.seen["long"] == 1 })
	// It is idle for longer than MinIdle, and the reader claims meanwhile: each
	// entry that follows is read after a claim.
	start := time.Now()
	for n := 0; time.Since(start) < 4*b.options.MinIdle; n++ {
		name := string(rune('a' + n))
		b.add(name)
		b.until(name, func() bool { return b.seen[name] == 1 })
		if err := Wait(t.Context(), b.options.MinIdle/2); err != nil {
			t.Fatal(err)
		}
	}
	close(gate)
	stop()
	if b.seen["long"] != 1 {
		t.Errorf("handled %d times", b.seen["long"])
	}
}

func TestAStopLeavesNoConsumerBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add("1")
	stop := b.run()
	b.until("read", func() bool { return b.seen["1"] == 1 })
	stop()
	if left := b.client.XInfoConsumers(t.Context(), b.options.Stream, group).Val(); len(left) != 0 {
		t.Errorf("%+v", left)
	}
}

// TestAStopLeavesWhatIsPending: a consumer with an entry that is not acknowledged stays.
func TestAStopLeavesWhatIsPending(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Handle = func(_ context.Context, entries []Entry) []Result {
		b.saw(entries[0])
		return []Result{{Kind: Elsewhere}}
	}
	b.add("1")
	stop := b.run()
	b.until("read", func() bool { return b.seen["1"] == 1 })
	stop()
	if left := b.client.XInfoConsumers(t.Context(), b.options.Stream, group).Val(); len(left) != 1 || left[0].Pending != 1 {
		t.Errorf("%+v", left)
	}
}

func TestKeepEndsWhereTheHoldIsLost(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	held, stop := Renew(t.Context(), 30*time.Millisecond, func(context.Context) (bool, error) {
		switch calls.Add(1) {
		case 1:
			return true, nil
		case 2:
			return false, errors.New("Redis is away")
		}
		return false, nil
	})
	defer stop()
	<-held.Done()
	if !errors.Is(context.Cause(held), ErrLost) || calls.Load() != 3 {
		t.Errorf("%v after %d calls", context.Cause(held), calls.Load())
	}
}

// TestKeepStops: stop waits for the call that is under way, and none comes after it.
func TestKeepStops(t *testing.T) {
	t.Parallel()
	const lease = 15 * time.Millisecond
	var calls atomic.Int64
	began, gate, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	_, stop := Renew(t.Context(), lease, func(context.Context) (bool, error) {
		if calls.Add(1) == 1 {
			close(began)
		}
		<-gate
		return true, nil
	})
	<-began
	go func() {
		stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("stop did not wait")
	case <-time.After(5 * lease):
	}
	close(gate)
	<-stopped
	before := calls.Load()
	if err := Wait(t.Context(), 10*lease); err != nil {
		t.Fatal(err)
	}
	if after := calls.Load(); after != before {
		t.Errorf("%d calls came after stop", after-before)
	}
}

func TestInsist(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	n := 0
	if err := Ensure(t.Context(), log, "x", func() error {
		if n++; n < 3 {
			return errors.New("away")
		}
		return nil
	}); err != nil || n != 3 {
		t.Errorf("%v after %d calls", err, n)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrLost)
	if err := Ensure(ctx, log, "x", func() error { return errors.New("away") }); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
	broken := fmt.Errorf("read: %w", scripts.ErrBroken)
	for name, err := range map[string]error{"marked": Final(errors.New("x")), "of scripts": broken} {
		if _, got := Insist(t.Context(), log, "x", func() (int, error) { return 0, err }); got != err {
			t.Errorf("%s: %v", name, got)
		}
	}
	n = 0
	full := func() (int, error) {
		if n++; n < 3 {
			return 0, fmt.Errorf("store: %w", scripts.ErrFull)
		}
		return n, nil
	}
	if got, err := Insist(t.Context(), log, "x", full, UnlessFull); got != 0 || !errors.Is(err, scripts.ErrFull) || n != 1 {
		t.Errorf("%d, %v after %d calls", got, err, n)
	}
	if got, err := Insist(t.Context(), log, "x", full); got != 3 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
}

func TestAStopWaitsForWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Patience = time.Minute
	read, finish := make(chan struct{}), make(chan struct{})
	b.options.Handle = handles(func(ctx context.Context, entries []Entry) {
		close(read)
		select {
		case <-finish:
			b.saw(entries[0])
			b.ack(entries[0])
		case <-ctx.Done():
		}
	})
	b.add("1")
	stop := b.run()
	<-read
	go stop()
	close(finish)
	b.until("done", func() bool { return b.seen["1"] == 1 })
	stop()
}

func TestAStopEndsWorkThatTakesTooLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Patience = 20 * time.Millisecond
	read := make(chan struct{})
	var why error
	b.options.Handle = handles(func(ctx context.Context, _ []Entry) {
		close(read)
		<-ctx.Done()
		why = context.Cause(ctx)
	})
	b.add("1")
	stop := b.run()
	<-read
	stop()
	if !errors.Is(why, ErrStopping) {
		t.Errorf("%v", why)
	}
}

// TestPoisonGoesAlone: an entry that was delivered again and again is not in a
// batch with others, and says how often it was.
func TestPoisonGoesAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Batch = true
	b.add("poison", "b", "c", "d")
	if err := b.client.XGroupCreate(t.Context(), b.options.Stream, group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	messages, err := b.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{
		Group: group, Consumer: "dead", Streams: []string{b.options.Stream, ">"},
	}).Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.client.Do(t.Context(), "XCLAIM", b.options.Stream, group, "dead", 0, messages[0].Messages[0].ID, "RETRYCOUNT", maxBatched).Err(); err != nil {
		t.Fatal(err)
	}
	var batches [][]Entry
	b.options.Handle = handles(func(_ context.Context, entries []Entry) {
		b.mu.Lock()
		batches = append(batches, entries)
		b.mu.Unlock()
		for _, e := range entries {
			b.saw(e)
			b.ack(e)
		}
	})
	defer b.run()()
	b.until("all", func() bool { return len(b.seen) == 4 })
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, batch := range batches {
		for _, e := range batch {
			if poison := e.Fields["n"] == "poison"; poison != (e.Deliveries == maxBatched+1) || poison && len(batch) != 1 {
				t.Errorf("%+v in a batch of %d", e, len(batch))
			}
		}
	}
}

// TestWorkIsKeptAlive: nobody takes over what a handler without a lease of its
// own works on.
func TestWorkIsKeptAlive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.KeepAlive, b.options.Slots = true, 1
	gate := make(chan struct{})
	quick := b.options.Handle
	b.options.Handle = handles(func(ctx context.Context, entries []Entry) {
		b.saw(entries[0])
		<-gate
		b.ack(entries[0])
	})
	b.add("1")
	first := b.run()
	b.until("read", func() bool { return b.seen["1"] == 1 })
	b.options.Consumer, b.options.Handle = "c2", quick
	second := b.run()
	start := time.Now()
	for n := 0; time.Since(start) < 4*b.options.MinIdle; n++ {
		name := string(rune('a' + n))
		b.add(name)
		b.until(name, func() bool { return b.seen[name] == 1 })
		if err := Wait(t.Context(), b.options.MinIdle/2); err != nil {
			t.Fatal(err)
		}
	}
	if b.seen["1"] != 1 {
		t.Errorf("handled %d times", b.seen["1"])
	}
	close(gate)
	first()
	second()
}

// TestAReaderThatWaitsIsSeen: others judge by the consumer's silence whether
// anybody reads.
func TestAReaderThatWaitsIsSeen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	defer b.run()()
	idle := func() time.Duration {
		consumers := b.client.XInfoConsumers(t.Context(), b.options.Stream, group).Val()
		if len(consumers) != 1 {
			return time.Hour
		}
		return consumers[0].Idle
	}
	b.until("it is there", func() bool { return idle() < time.Hour })
	// It gets nothing for much longer than it may be silent.
	for range 4 {
		if err := Wait(t.Context(), block); err != nil {
			t.Fatal(err)
		}
	}
	b.until("it has been heard just now", func() bool { return idle() < block })
}

// TestAReaderWithoutRoomIsSeen, too.
func TestAReaderWithoutRoomIsSeen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Admit = func(context.Context) (int, error) { return 0, nil }
	defer b.run()()
	b.until("it is there", func() bool {
		return len(b.client.XInfoConsumers(t.Context(), b.options.Stream, group).Val()) == 1
	})
}

// TestPoisonIsAlone: of those that were delivered again and again, one is worked on
// at a time, and the others are not delivered with it.
func TestPoisonIsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.options.Batch, b.options.KeepAlive = true, true
	b.add("innocent", "poison")
	if err := b.client.XGroupCreate(t.Context(), b.options.Stream, group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	read := b.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "dead", Streams: []string{b.options.Stream, ">"}}).Val()
	for _, m := range read[0].Messages {
		if err := b.client.Do(t.Context(), "XCLAIM", b.options.Stream, group, "dead", 0, m.ID, "RETRYCOUNT", maxBatched).Err(); err != nil {
			t.Fatal(err)
		}
	}
	gate := make(chan struct{})
	b.options.Handle = handles(func(_ context.Context, entries []Entry) {
		if len(entries) != 1 || entries[0].Deliveries != maxBatched+1 {
			t.Errorf("%+v", entries)
		}
		b.saw(entries[0])
		<-gate
		b.ack(entries[0])
	})
	stop := b.run()
	defer stop()
	b.until("one is worked on", func() bool { return len(b.seen) == 1 })
	// Some claims later, the other one still waits as it was.
	if err := Wait(t.Context(), 4*b.options.MinIdle); err != nil {
		t.Fatal(err)
	}
	pending := b.client.XPendingExt(t.Context(), &redis.XPendingExtArgs{Stream: b.options.Stream, Group: group, Start: "-", End: "+", Count: 10}).Val()
	if len(pending) != 2 || len(b.seen) != 1 {
		t.Fatalf("%+v, seen %v", pending, b.seen)
	}
	for _, p := range pending {
		if p.RetryCount > maxBatched+1 {
			t.Errorf("delivered %d times", p.RetryCount)
		}
	}
	close(gate)
	b.until("both", func() bool { return len(b.seen) == 2 })
}
