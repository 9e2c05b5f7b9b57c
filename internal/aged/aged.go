// Package aged answers one question: when is something asked again?
//
// Cache holds answers by key, and every caller waits for the answer to its key. Latest holds one value,
// which it reads in the background. Both ask for one key only once at a time.
package aged

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"
)

// Cache holds answers up to a maximum age. Errors are not held. Its fields must not change after the first
// call of Get. It is safe for concurrent use.
//
// Package singleflight shares calls, too, but a caller after Forget could still get an answer from before it.
type Cache[K comparable, V any] struct {
	// MaxAge is the maximum age of an answer, from the end of Ask; 0: answers are held until Forget.
	MaxAge time.Duration
	// Max is the maximum number of answers; 0: no limit. If Max is reached, a new answer replaces those that are
	// too old, and if there are none, all.
	Max int
	// Timeout bounds a call of Ask; 0: no limit.
	Timeout time.Duration
	// Ask returns the answer to a key. Its context does not end with that of a caller, because others may wait
	// for the same answer.
	Ask func(ctx context.Context, key K) (V, error)

	mu    sync.Mutex
	known map[K]*answer[V]
}

// answer is what Ask returns, once done is closed.
type answer[V any] struct {
	done  chan struct{}
	value V
	err   error
	at    time.Time // when Ask returned; zero: it is running
}

// Get returns the answer to a key. If it is unknown or too old, Get calls Ask, or waits for a call that is
// running. If ctx ends first, Get returns its cause.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (V, error) {
	a := c.find(ctx, key)
	select {
	case <-a.done:
		return a.value, a.err
	default:
	}
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

// find returns the answer to a key, and calls Ask in the background if there is none.
func (c *Cache[K, V]) find(ctx context.Context, key K) *answer[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.known[key]; a != nil && !c.old(a) {
		return a
	}
	if c.Max > 0 && len(c.known) >= c.Max {
		maps.DeleteFunc(c.known, func(_ K, a *answer[V]) bool { return c.old(a) })
	}
	if c.known == nil || c.Max > 0 && len(c.known) >= c.Max {
		c.known = map[K]*answer[V]{}
	}
	a := &answer[V]{done: make(chan struct{})}
	c.known[key] = a
	go func() {
		value, err := c.ask(context.WithoutCancel(ctx), key)
		c.mu.Lock()
		defer c.mu.Unlock()
		a.value, a.err, a.at = value, err, time.Now()
		if err != nil && c.known[key] == a {
			delete(c.known, key)
		}
		close(a.done)
	}()
	return a
}

// old reports whether an answer is too old.
func (c *Cache[K, V]) old(a *answer[V]) bool {
	return !a.at.IsZero() && c.MaxAge > 0 && time.Since(a.at) > c.MaxAge
}

// ask calls Ask. A panic becomes an error, because in the background it would end the process. Users see
// the error; the stack is for the log.
func (c *Cache[K, V]) ask(ctx context.Context, key K) (value V, err error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			slog.Error("a background read panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v: the log of the process has the stack", p)
		}
	}()
	return c.Ask(ctx, key)
}

// Forget deletes all answers. Those who wait for a call of Ask still get its answer, but later callers do not.
func (c *Cache[K, V]) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
}

// Latest holds a value that is read in the background, so that a server that hangs delays no caller. It is
// safe for concurrent use.
type Latest[V any] struct {
	Every time.Duration // minimum time between the starts of two reads

	mu      sync.Mutex
	known   V
	began   time.Time // of the last read
	busy    bool      // it has not ended
	running sync.WaitGroup
}

// Get returns the value of the last read, or the zero value. If that read has ended and began more than
// Every ago, Get starts another one.
func (l *Latest[V]) Get(read func() V) V {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.began) > l.Every && !l.busy {
		l.began, l.busy = time.Now(), true
		l.running.Go(func() {
			found := read()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.known, l.busy = found, false
		})
	}
	return l.known
}

// Wait waits until no read is running.
func (l *Latest[V]) Wait() { l.running.Wait() }
