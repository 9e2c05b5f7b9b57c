package step

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Insist calls f until it succeeds or ctx ends, with pauses that grow from 50 ms
// to 5 s, and returns the error of ctx in that case. It is for effects that must
// happen before an entry is acknowledged and that fail only while a server is
// away; an error of Final is returned at once.
func Insist(ctx context.Context, log *slog.Logger, what string, f func() error) error {
	var pause *backoff.ExponentialBackOff
	for {
		err := f()
		if err == nil {
			return nil
		}
		if pause == nil {
			pause = backoff.NewExponentialBackOff()
			pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, 5*time.Second
		}
		if final := (final{}); errors.As(err, &final) {
			return final.error
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		log.Warn("trying again", "what", what, "err", err)
		if Wait(ctx, pause.NextBackOff()) != nil {
			return context.Cause(ctx)
		}
	}
}

// Final marks an error after which Insist gives up.
func Final(err error) error { return final{err} }

type final struct{ error }
