package step

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// quiet is how long a channel may be silent before it is asked whether it is there.
	quiet = 5 * time.Second
	// listenAgain is the time before the next try where it is not.
	listenAgain = time.Second
)

// Listen calls hear with each message of a channel until ctx ends. What is published
// while there is no connection is missed, so it is for what only makes others faster,
// and where the channel is forbidden, nothing is heard.
func Listen(ctx context.Context, rdb redis.UniversalClient, channel string, hear func(message string)) {
	for ctx.Err() == nil {
		listen(ctx, rdb, channel, hear)
		_ = Wait(ctx, listenAgain)
	}
}

// listen is one subscription.
func listen(ctx context.Context, rdb redis.UniversalClient, channel string, hear func(message string)) {
	sub := rdb.Subscribe(ctx, channel)
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = sub.Close() // ends what waits in it
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
				hear(m.Payload)
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
