package step

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// quiet is how long a subscription may be silent before it is checked with PING.
	quiet = 5 * time.Second
	// listenAgain is the pause before a broken subscription is made anew.
	listenAgain = time.Second
)

// Listen calls receive with every message of a channel until ctx ends. Messages that are published
// while there is no connection are missed, so use it only for hints that save time. If the server
// denies access to the channel, no message arrives.
func Listen(ctx context.Context, rdb redis.UniversalClient, channel string, receive func(message string)) {
	for ctx.Err() == nil {
		listen(ctx, rdb, channel, receive)
		_ = Wait(ctx, listenAgain)
	}
}

// listen is one subscription. It returns when the subscription breaks.
func listen(ctx context.Context, rdb redis.UniversalClient, channel string, receive func(message string)) {
	sub := rdb.Subscribe(ctx, channel)
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = sub.Close() // ends a blocked receive
	})
	defer func() {
		if !stop() {
			<-closed
		}
		_ = sub.Close()
	}()
	for asked := false; ; {
		got, err := sub.ReceiveTimeout(ctx, quiet)
		var timeout net.Error
		switch {
		case err == nil:
			asked = false
			if m, ok := got.(*redis.Message); ok {
				receive(m.Payload)
			}
		case errors.As(err, &timeout) && timeout.Timeout() && !asked && ctx.Err() == nil:
			if sub.Ping(ctx) != nil {
				return
			}
			asked = true
		default:
			return
		}
	}
}
