package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// pace is how often and how patiently a subscription is proved, and how often lost
// messages are looked for.
type pace struct {
	canary   time.Duration // between two canaries
	patience time.Duration // for an answer, and for a canary to be heard
	again    time.Duration // before the next try where Redis is away
	slow     time.Duration // before the next try where Redis tells nothing
	lost     time.Duration // between two passes over running jobs
	progress time.Duration // between two lines that tell how far a job is, and before the first one
}

var defaultPace = pace{canary: 2 * time.Second, patience: time.Second, again: 500 * time.Millisecond, slow: 30 * time.Second, lost: scripts.LostEvery, progress: 2 * time.Second}

var (
	// errDeaf ends a subscription that has become silent.
	errDeaf = errors.New("scheduler: the canary is not heard any more")
	// errMute ends a subscription that has never heard anything.
	errMute = errors.New("scheduler: Redis publishes no keyspace notifications: they are off or forbidden")
)

// subscribe keeps a subscription to keyspace notifications until ctx ends. Each
// new one wakes all loops, since what happened before it was not heard.
//
// go-redis makes a broken connection anew by itself, but does not say so, and it
// does not see one that is open and silent. So a subscription here is one
// connection: what is wrong with it, or a canary that is not heard, ends it.
func (s *Scheduler) subscribe(ctx context.Context) error {
	said := error(nil)
	mute := mostMute // tries in a row that have heard nothing, since something was heard
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
			s.log.Info("subscription is made anew", "err", err)
			said, mute = nil, 0
			continue
		}
		// Said once: the same goes on until something is heard.
		if said == nil || errors.Is(said, errMute) != errors.Is(err, errMute) {
			s.log.Warn("no keyspace notifications: what is due is polled every second", "err", err)
		}
		said = err
		wait := s.pace.again
		if mute++; mute > mostMute && (errors.Is(err, errMute) || isReply(err)) {
			wait = s.pace.slow
		}
		if step.Wait(ctx, wait) != nil {
			return nil
		}
	}
}

// mostMute is how often a subscription that hears nothing is soon tried again after one that did:
// during a failover it can be to a server that is no longer the master.
const mostMute = 10

// connection returns the options of the connections for the subscription: they
// give up soon, and one broken connection is not hidden by another.
func (s *Scheduler) connection(given *redis.Client) *redis.Options {
	o := *given.Options()
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns = 2, 0, 0
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = s.pace.patience, s.pace.patience, s.pace.patience
	o.ContextTimeoutEnabled = true
	// These belong to the client that was given.
	o.PushNotificationProcessor = nil
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &o
}

// session holds one subscription until it breaks or ctx ends. It tells whether
// anything was heard, and why it ended.
func (s *Scheduler) session(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	master, err := redisdb.Master(ctx, s.redis, s.scripts.Keys.Wake())
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
		cancel(nil) // also what go-redis does to connect again
		_ = pubsub.Close()
		<-received
	}()
	s.wakeAll()
	all := false // Redis publishes all that can happen to a timer's key
	for {
		// Somebody may have switched some of them off, of which the end of the canary
		// tells nothing.
		changed, err := s.enable(ctx, client)
		if err != nil {
			return heard, fmt.Errorf("notifications: %w", err)
		}
		chirp, err := s.proves(ctx, e.canary)
		if chirp && !e.all.Load() {
			// It can be the end of one that an earlier subscription has set.
			chirp, err = s.proves(ctx, e.canary)
		}
		switch {
		case err != nil && context.Cause(ctx) != nil:
			return heard, context.Cause(ctx)
		case err != nil:
			return heard, fmt.Errorf("canary: %w", err)
		case !chirp && heard:
			return true, errDeaf
		case !chirp:
			return false, errMute
		case !heard || changed || e.all.Load() != all:
			heard, all = true, e.all.Load()
			if s.timers != nil {
				s.tellTimers(all)
			}
			s.hears.Store(true)
			s.metrics.heard.Set(1)
			server := "" // after a failover it is another one
			if info, err := client.ClientInfo(ctx).Result(); err == nil {
				server = info.LAddr
			}
			s.log.Log(ctx, level, "keyspace notifications are heard", "server", server, "all", all)
		}
		if step.Wait(ctx, s.pace.canary) != nil {
			return heard, context.Cause(ctx)
		}
	}
}

// tellTimers says that something is heard, and whether that is all. That it is not is
// logged once.
func (s *Scheduler) tellTimers(all bool) {
	s.timers.Subscribed(all)
	if !all && !s.part {
		s.log.Warn("Redis publishes only a part of the keyspace notifications: a scan finds the keys of timers", "setting", notifySetting, "needed", notifyFlags)
	}
	s.part = !all
}

// proves tells whether the end of the canary is heard.
func (s *Scheduler) proves(ctx context.Context, heard step.Bell) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, s.pace.patience)
	defer cancel()
	select {
	case <-heard.Rung: // of the one before, or of one that nobody waits for
	default:
	}
	if err := s.scripts.Clock.SetCanary(limited, s.name); err != nil {
		return false, err
	}
	if step.Wait(limited, 2*time.Millisecond) != nil {
		return false, limited.Err()
	}
	if err := s.touchKeys(limited, []string{s.scripts.Keys.Canary(s.name)}); err != nil {
		return false, err
	}
	select {
	case <-heard.Rung:
		return true, nil
	case <-limited.Done():
		return false, ctx.Err()
	}
}
