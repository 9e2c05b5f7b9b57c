package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// pace is the timing of a subscription and of the loops for lost messages and progress.
type pace struct {
	canary   time.Duration // between two canaries
	patience time.Duration // for an answer, and for a canary to be heard
	again    time.Duration // before the next try while Redis is unavailable
	slow     time.Duration // before the next try if Redis publishes nothing
	lost     time.Duration // between two passes over running jobs
	progress time.Duration // between two lines that tell how far a job is, and before the first one
	tally    time.Duration // between two passes over new events
}

var defaultPace = pace{canary: 2 * time.Second, patience: time.Second, again: 500 * time.Millisecond,
	slow: 30 * time.Second, lost: scripts.LostEvery, progress: 2 * time.Second, tally: 2 * time.Second}

var (
	// errDeaf ends a subscription that has become silent.
	errDeaf = errors.New("the event of the canary no longer arrives")
	// errMute ends a subscription that has never received anything.
	errMute = errors.New("Redis publishes no keyspace notifications: they are off or forbidden")
)

// subscription receives keyspace notifications, and wakes the services that they are for.
type subscription struct {
	*base
	consumer  string
	mover     *mover
	deadlines *deadlines
	timers    TimerEvents // nil: none

	subscribed bool // at least once
	refused    bool // it was logged that notifications cannot be switched on
	part       bool // it was logged that only a part of them is published
}

// run keeps a subscription to keyspace notifications until ctx ends. Every new subscription
// wakes all loops, because earlier events were missed.
//
// go-redis replaces a broken connection silently, and does not detect one that is open but dead. So
// a subscription here is one connection: an error, or a canary whose event does not arrive, ends
// it.
func (s *subscription) run(ctx context.Context) error {
	said := error(nil)
	mute := maxMute // tries in a row that have heard nothing, since something was heard
	for {
		heard, err := s.session(ctx)
		s.hears.Store(false)
		s.metrics.heard.Set(0)
		if s.timers != nil {
			s.timers.Deaf()
		}
		if ctx.Err() != nil {
			return nil
		}
		if heard {
			s.log.Info("subscribing to Redis again", "err", err)
			said, mute = nil, 0
			continue
		}
		// Log this once, until events arrive.
		if said == nil || errors.Is(said, errMute) != errors.Is(err, errMute) {
			s.log.Warn("no keyspace notifications arrive; polling every second instead", "err", err)
		}
		said = err
		wait := s.pace.again
		if mute++; mute > maxMute && (errors.Is(err, errMute) || scripts.IsAnswer(err)) {
			wait = s.pace.slow
		}
		if step.Wait(ctx, wait) != nil {
			return nil
		}
	}
}

// maxMute is how often a silent subscription is soon retried after one that worked: during a
// failover it can be to a server that is no longer the master.
const maxMute = 10

// connection returns the options of the subscription's connections: they time out soon, and do not
// hide a broken connection behind another one.
func (s *subscription) connection(given *redis.Client) *redis.Options {
	o := *given.Options()
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns = 2, 0, 0
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = s.pace.patience, s.pace.patience, s.pace.patience
	o.ContextTimeoutEnabled = true
	// These belong to the given client.
	o.PushNotificationProcessor = nil
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &o
}

// session runs one subscription until it breaks or ctx ends. It tells whether events arrived, and
// why it ended.
func (s *subscription) session(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	master, err := s.scripts.Node(ctx)
	if err != nil {
		return false, err
	}
	client := redis.NewClient(s.connection(master))
	defer client.Close()
	e := s.events(client.Options().DB)
	pubsub, err := e.subscribe(ctx, client, s.pace.patience)
	if err != nil {
		return false, err
	}
	level := slog.LevelDebug
	if s.subscribed {
		s.metrics.again.Inc()
		level = slog.LevelInfo
	}
	s.subscribed = true
	received := make(chan struct{})
	go func() {
		defer close(received)
		cancel(e.receive(ctx, pubsub, s.pace.canary+3*s.pace.patience))
	}()
	defer func() {
		cancel(nil) // also ends go-redis's attempts to reconnect
		_ = pubsub.Close()
		<-received
	}()
	// Events were missed. Timers scan the whole db, and are woken only when events arrive.
	s.mover.bell.Ring()
	s.deadlines.next.Ring()
	s.deadlines.sweep.Ring()
	all := false // Redis publishes all that can happen to a timer's key
	for {
		// Somebody may have switched some of them off, of which the end of the canary
		// tells nothing.
		changed, err := s.enable(ctx, client)
		if err != nil {
			return heard, fmt.Errorf("notifications: %w", err)
		}
		arrived, err := s.proves(ctx, e.canary)
		if arrived && !e.all.Load() {
			// It can be the event of an earlier subscription's canary.
			arrived, err = s.proves(ctx, e.canary)
		}
		switch {
		case err != nil && context.Cause(ctx) != nil:
			return heard, context.Cause(ctx)
		case err != nil:
			return heard, fmt.Errorf("canary: %w", err)
		case !arrived && heard:
			return true, errDeaf
		case !arrived:
			return false, errMute
		case !heard || changed || e.all.Load() != all:
			heard, all = true, e.all.Load()
			if s.timers != nil {
				s.timers.Subscribed(all)
				if !all && !s.part { // logged once
					s.log.Warn("Redis publishes only some of the required keyspace notifications; scanning for keys of "+
						"timers instead", "setting", notifySetting, "needed", notifyFlags)
				}
				s.part = !all
			}
			s.hears.Store(true)
			s.metrics.heard.Set(1)
			server := "" // after a failover it is another one
			if info, err := client.ClientInfo(ctx).Result(); err == nil {
				server = info.LAddr
			}
			s.log.Log(ctx, level, "keyspace notifications arrive", "server", server, "all", all)
		}
		if step.Wait(ctx, s.pace.canary) != nil {
			return heard, context.Cause(ctx)
		}
	}
}

// touches is the maximum number of touches of a canary, a millisecond apart.
const touches = 10

// proves tells whether the event of the canary arrives.
func (s *subscription) proves(ctx context.Context, heard step.Bell) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, s.pace.patience)
	defer cancel()
	select {
	case <-heard.Rung: // of the one before, or of one that nobody waits for
	default:
	}
	if err := s.scripts.Clock.SetCanary(limited, s.consumer); err != nil {
		return false, err
	}
	if step.Wait(limited, 2*time.Millisecond) != nil {
		return false, limited.Err()
	}
	for range touches {
		if exists, err := s.scripts.Clock.Touch(limited, s.scripts.Keys.Canary(s.consumer)); err != nil {
			return false, err
		} else if !exists || step.Wait(limited, time.Millisecond) != nil {
			break
		}
	}
	select {
	case <-heard.Rung:
		return true, nil
	case <-limited.Done():
		return false, ctx.Err()
	}
}
