package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/step"
	"github.com/redis/go-redis/v9"
)

// events knows the channels of keyspace notifications and their receivers. It only wakes others: if
// it did the work, Redis would buffer notifications and finally close the connection.
type events struct {
	s      *subscription
	prefix string    // of each channel
	canary step.Bell // rings when the canary has ended
	// fresh: the end of a canary was heard, so what comes now is new. While Redis
	// loads its append-only file it takes a subscription, and tells what the file
	// says: a key that was removed long ago is removed once more. Nothing expires
	// before that has ended.
	fresh atomic.Bool
	// all: the last canary was heard by each of its events, and not by its end alone.
	// They are of the three kinds that tell of a timer's key: of strings, of generic
	// commands, and of what expires. A server may publish one kind without the others.
	all atomic.Bool
	// What was heard of a canary since the end of the one before. Of tell alone.
	set, expire bool
}

func (s *subscription) events(db int) *events {
	return &events{s: s, prefix: "__keyspace@" + strconv.Itoa(db) + "__:", canary: step.NewBell()}
}

// channels are the channels of single keys; patterns match those of many keys.
func (e *events) channels() (channels, patterns []string) {
	k := e.s.scripts.Keys
	for _, key := range []string{k.Delayed, k.Timers, k.Wake, k.Canary(e.s.consumer)} {
		channels = append(channels, e.prefix+key)
	}
	return channels, []string{
		e.prefix + literal.Replace(k.Timer("")) + "*",
	}
}

// literal escapes characters with a meaning in patterns. The configuration does not allow them in
// keys, but other users of this package might.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// subscribe returns a subscription that Redis has confirmed.
func (e *events) subscribe(ctx context.Context, client *redis.Client, patience time.Duration) (*redis.PubSub, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	channels, patterns := e.channels()
	pubsub := client.Subscribe(ctx, channels...)
	err := pubsub.PSubscribe(ctx, patterns...)
	for left := len(channels) + len(patterns); err == nil && left > 0; {
		var m any
		if m, err = pubsub.ReceiveTimeout(ctx, patience); err == nil {
			if _, ok := m.(*redis.Subscription); ok {
				left--
			} else {
				e.tell(m)
			}
		}
	}
	if err != nil {
		_ = pubsub.Close()
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return pubsub, nil
}

// receive dispatches notifications until the connection breaks, or is silent for longer than a
// working canary allows. After a read timeout it does not continue, because half of a message may
// be lost.
func (e *events) receive(ctx context.Context, pubsub *redis.PubSub, silence time.Duration) error {
	for {
		m, err := pubsub.ReceiveTimeout(ctx, silence)
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		if _, ok := m.(*redis.Subscription); ok {
			// The connection was replaced.
			return errReconnected
		}
		e.tell(m)
	}
}

var errReconnected = errors.New("the connection was replaced")

// tell wakes the receiver of a message.
func (e *events) tell(message any) {
	m, ok := message.(*redis.Message)
	if !ok {
		return
	}
	key, event := strings.TrimPrefix(m.Channel, e.prefix), m.Payload
	s, k := e.s, e.s.scripts.Keys
	switch {
	case key == k.Delayed:
		if event != "zrem" { // a removed member makes nothing due
			s.mover.bell.Ring()
		}
	case key == k.Canary(s.consumer):
		switch event {
		case "set":
			e.set = true
		case "expire":
			e.expire = true
		case "expired":
			e.all.Store(e.set && e.expire)
			e.set, e.expire = false, false
			e.fresh.Store(true)
			e.canary.Ring()
		}
	case key == k.Timers:
		if s.timers != nil && event != "zrem" {
			s.timers.Changed()
		}
	case strings.HasPrefix(key, k.Timer("")):
		if s.timers != nil && e.fresh.Load() {
			s.timers.Touched(strings.TrimPrefix(key, k.Timer("")), event)
		}
	case key == k.Wake && event == "set":
		s.deadlines.next.RingIn(newKeys)
	case key == k.Wake && event == "expired":
		s.deadlines.expired.Store(true)
		s.deadlines.event.Ring()
	}
}
