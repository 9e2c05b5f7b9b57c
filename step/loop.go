package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/fanfold/fanfold/scripts"
)

// Loop calls once repeatedly until ctx ends, and then returns nil. It calls once when the bell
// rings, and after the delay that once returned, at most max. After an error without a delay it
// waits for max. It logs an error unless it is the same as the one before.
func Loop(ctx context.Context, log *slog.Logger, what string, max time.Duration, bell Bell,
	once func(context.Context) (time.Duration, error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-bell.Rung:
		}
		sleep, err := once(ctx)
		switch {
		case err == nil:
			logged = ""
		case ctx.Err() == nil && logged != err.Error():
			logged = err.Error()
			log.Warn("failed; will try again", "what", what, "err", err)
		}
		if err != nil && sleep <= 0 {
			sleep = max
		}
		timer.Reset(min(sleep, max))
	}
}

// Every is Loop for work that is done once per d.
func Every(ctx context.Context, log *slog.Logger, d time.Duration, what string,
	once func(context.Context) error) error {
	return Loop(ctx, log, what, d, Bell{}, func(ctx context.Context) (time.Duration, error) { return d, once(ctx) })
}

// Bell wakes a Loop. However often it rings between two calls, it wakes the loop once. It is safe
// for concurrent use; the zero value never rings.
type Bell struct {
	Rung  chan struct{}
	later *atomic.Bool // a delayed ring is scheduled
}

// NewBell returns a Bell.
func NewBell() Bell { return Bell{Rung: make(chan struct{}, 1), later: &atomic.Bool{}} }

// Ring wakes the loop now.
func (b Bell) Ring() {
	select {
	case b.Rung <- struct{}{}:
	default:
	}
}

// RingIn rings after d, or together with an earlier call that has not rung yet.
func (b Bell) RingIn(d time.Duration) {
	if b.later.CompareAndSwap(false, true) {
		time.AfterFunc(d, func() {
			b.later.Store(false)
			b.Ring()
		})
	}
}

// Wait waits for d or until ctx ends, and then returns the error of ctx.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("step: %w", ctx.Err())
	}
}

// Insist calls f until it succeeds or ctx ends, with pauses that grow from 50 ms to 5 s, and returns
// its value. If ctx ends, it returns the cause. Use it for effects that must happen before an entry
// is acknowledged and that fail only while a server is unreachable. An error whose method Final
// returns true is returned at once: Final marks one, and packages scripts and engine mark those that
// every try would repeat.
func Insist[T any](ctx context.Context, log *slog.Logger, what string, f func() (T, error),
	options ...Option) (T, error) {
	var pause *backoff.ExponentialBackOff
	for {
		value, err := f()
		if len(options) > 0 && scripts.Full(err) {
			err = Final(err)
		}
		if m, ok := errors.AsType[marked](err); err == nil || ok && m.Final() {
			return value, err
		}
		if pause == nil {
			pause = backoff.NewExponentialBackOff()
			pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, 5*time.Second
		}
		if ctx.Err() != nil {
			return value, context.Cause(ctx)
		}
		log.Warn("failed; trying again", "what", what, "err", err)
		if Wait(ctx, pause.NextBackOff()) != nil {
			return value, context.Cause(ctx)
		}
	}
}

// Ensure is Insist for an effect without a value.
func Ensure(ctx context.Context, log *slog.Logger, what string, f func() error, options ...Option) error {
	_, err := Insist(ctx, log, what, func() (struct{}, error) { return struct{}{}, f() }, options...)
	return err
}

// Option says when Insist gives up.
type Option int

// UnlessFull makes Insist give up while Redis is full, instead of waiting until jobs that end free
// memory. Use it for steps for which those jobs may wait.
const UnlessFull Option = iota

// Final marks an error that Insist does not retry.
func Final(err error) error { return final{err} }

type final struct{ error }

func (f final) Unwrap() error { return f.error }
func (f final) Final() bool   { return true }

// marked is an error that Final, or another package, marks.
type marked interface {
	error
	Final() bool
}
