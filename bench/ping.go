package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
)

// pingPause is the time between two PINGs.
const pingPause = time.Millisecond

// ping sends one PING after the other over a connection of its own until the
// function is called that it returns, which tells how long each took.
func ping(ctx context.Context, server *testenv.Redis) func() ([]time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	var took []time.Duration
	done := make(chan error, 1)
	go func() { done <- pings(ctx, server.Client(), &took) }()
	return func() ([]time.Duration, error) {
		stop()
		err := <-done
		return took, err
	}
}

func pings(ctx context.Context, client *redis.Client, took *[]time.Duration) error {
	defer client.Close()
	// The end of ctx does not cut one off.
	if err := client.Ping(context.WithoutCancel(ctx)).Err(); err != nil { // connects
		return err
	}
	for wait(ctx, pingPause) == nil {
		begin := time.Now()
		if err := client.Ping(context.WithoutCancel(ctx)).Err(); err != nil {
			return err
		}
		*took = append(*took, time.Since(begin))
	}
	return nil
}
