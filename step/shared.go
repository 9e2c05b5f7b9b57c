package step

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

const (
	// gather is how long a call waits for Readers that have just received entries.
	gather = time.Millisecond
	// shortBlock is how long a call that does not serve all Readers may wait for entries: the
	// others join the next call.
	shortBlock = 20 * time.Millisecond
	// lastAnswer is how long a Reader that stops waits for the running call.
	lastAnswer = 2 * block
	// MaxShared is the maximum number of Readers that should share one connection: Redis checks all
	// their streams in every call.
	MaxShared = 500
)

// Shared reads for many Readers over one blocking connection. A call serves the Readers that have
// free slots and wait for entries. Every stream returns at most as many entries as the Reader with
// the fewest slots takes, so that a busy stream starves no other. All streams must be in one hash
// slot: a cluster does not read several slots in one call.
type Shared struct {
	redis    redis.UniversalClient
	consumer string
	readers  int
	wake     chan struct{}

	mu      sync.Mutex
	wants   map[string]*want // by stream
	calling bool
}

// want is a Reader that waits for entries.
type want struct {
	count  int
	since  time.Time
	called bool // it is part of the running call
	ended  bool // its Reader is stopping and only waits for the end of that call
	answer chan answer
}

type answer struct {
	messages []redis.XMessage
	err      error
}

// NewShared returns a Shared for a number of Readers of one consumer. It does no I/O.
func NewShared(rdb redis.UniversalClient, consumer string, readers int) *Shared {
	return &Shared{redis: rdb, consumer: consumer, readers: readers, wake: make(chan struct{}, 1),
		wants: map[string]*want{}}
}

// Run reads until ctx ends, which must be after all Readers have ended.
func (s *Shared) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for more := true; more && s.gathered(ctx); {
			more = s.call(ctx)
		}
	}
}

// read waits for entries of a stream, for as long as a Reader may wait.
func (s *Shared) read(ctx context.Context, stream string, count int) ([]redis.XMessage, error) {
	s.mu.Lock()
	calling := s.calling
	s.mu.Unlock()
	if calling { // without this stream: entries that exist need not wait for the end of the call
		if messages, err := s.readOne(ctx, stream, count); err != nil || len(messages) > 0 {
			return messages, err
		}
	}
	w := &want{count: count, since: time.Now(), answer: make(chan answer, 1)}
	s.mu.Lock()
	s.wants[stream] = w
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	select {
	case a := <-w.answer:
		return a.messages, a.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	if !w.called && s.wants[stream] == w {
		delete(s.wants, stream)
		s.mu.Unlock()
		return nil, ctx.Err()
	}
	w.ended = true
	s.mu.Unlock()
	late := time.NewTimer(lastAnswer)
	defer late.Stop()
	select {
	case a := <-w.answer: // the entries belong to this consumer
		return a.messages, a.err
	case <-late.C: // Redis hangs: others take over the entries
		return nil, ctx.Err()
	}
}

// gathered gives Readers that have just received entries a moment to come back. It returns false if
// ctx has ended.
func (s *Shared) gathered(ctx context.Context) bool {
	s.mu.Lock()
	all := len(s.wants) == s.readers
	s.mu.Unlock()
	return all && ctx.Err() == nil || Wait(ctx, gather) == nil
}

// call reads once for all waiting Readers, and tells whether any still wait.
func (s *Shared) call(ctx context.Context) bool {
	s.mu.Lock()
	patience := shortBlock // for entries
	if len(s.wants) == s.readers {
		patience = block
	}
	var streams []string
	count := 0
	for stream, w := range s.wants {
		streams = append(streams, stream)
		w.called = true
		if count == 0 || w.count < count {
			count = w.count
		}
	}
	s.calling = len(streams) > 0
	s.mu.Unlock()
	if len(streams) == 0 {
		return false
	}
	slices.Sort(streams)
	found, err := s.readTwice(ctx, streams, count, patience)
	one := redis.Error(nil)
	if errors.As(err, &one) {
		// The error is that of one stream or of several: read every stream on its own.
		found, err = nil, nil
		for _, stream := range streams {
			messages, err := s.readOne(ctx, stream, count)
			if err != nil || len(messages) > 0 {
				s.give(stream, answer{messages, err})
			}
		}
	}
	for stream, messages := range found {
		s.give(stream, answer{messages: messages})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calling = false
	over := err != nil
	for _, w := range s.wants {
		over = over || time.Since(w.since) >= block
	}
	for stream, w := range s.wants {
		if !w.called {
			continue
		}
		if w.called = false; over || w.ended { // all together, so that they come back together
			delete(s.wants, stream)
			w.answer <- answer{err: err}
		}
	}
	return len(s.wants) > 0
}

// give passes an answer to the Reader of a stream.
func (s *Shared) give(stream string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.wants[stream]; w != nil {
		delete(s.wants, stream)
		w.answer <- a
	}
}

// readTwice sends a blocking call and, behind it, one that does not block. Redis answers the first
// with the entries of one stream; others have often received entries at the same time, from the
// script that starts a job. It returns an error only if it found nothing.
func (s *Shared) readTwice(ctx context.Context, streams []string, count int,
	block time.Duration) (map[string][]redis.XMessage, error) {
	pipe := s.redis.Pipeline()
	calls := []*redis.XStreamSliceCmd{pipe.XReadGroup(ctx, s.args(streams, count-count/2, block))}
	if len(streams) > 1 && count > 1 {
		calls = append(calls, pipe.XReadGroup(ctx, s.args(streams, count/2, -1)))
	}
	_, _ = pipe.Exec(ctx) // every call has its own error
	found := map[string][]redis.XMessage{}
	var failed error
	for _, call := range calls {
		some, err := call.Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			failed = err
		}
		for _, f := range some {
			found[f.Stream] = append(found[f.Stream], f.Messages...)
		}
	}
	if len(found) > 0 {
		failed = nil
	}
	return found, failed
}

func (s *Shared) args(streams []string, count int, block time.Duration) *redis.XReadGroupArgs {
	args := slices.Clone(streams)
	for range streams {
		args = append(args, ">")
	}
	return &redis.XReadGroupArgs{Group: scripts.Group, Consumer: s.consumer, Streams: args, Count: int64(count),
		Block: block}
}

func (s *Shared) readOne(ctx context.Context, stream string, count int) ([]redis.XMessage, error) {
	found, err := s.redis.XReadGroup(ctx, s.args([]string{stream}, count, -1)).Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0].Messages, nil
}
