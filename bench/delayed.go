package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	whatDelayed  = "delayed job to its listener, lateness"
	asynqDefault = "asynq, its default intervals"
)

// delayed measures how late a listener gets a job that was pushed for later, in a
// Redis that has many other keys with a TTL, for the systems that have delays. What
// comes early has a lateness below zero.
func delayed(ctx context.Context, o options, dir string, r *results) error {
	list, err := choose(ctx, o.systems, r)
	if err != nil {
		return err
	}
	s, err := startServers(ctx, nil, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	client := s.redis.Client()
	defer client.Close()
	for round := range o.rounds {
		for _, x := range withDelays(list) {
			if round > 0 && x.name == asynqDefault {
				continue // what its intervals make of it is seen once
			}
			p, err := fresh(ctx, s, x, 1)
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			err = others(ctx, client)
			var late []time.Duration
			if err == nil {
				late, err = lateStarts(ctx, p.(delayer), idsOf("d", round, lateCount))
			}
			p.close()
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			r.distribution(whatDelayed, x.name, late)
			r.add(whatDelayed+", earliest", x.name, "ms", late[0].Seconds()*1000)
		}
	}
	return nil
}

// withDelays returns those of the systems that can start a job later.
func withDelays(list []system) []system {
	var delays []system
	for _, x := range list {
		switch x.name {
		case "fanfold", "BullMQ":
			delays = append(delays, x)
		case "asynq":
			delays = append(delays, x, system{asynqDefault, nil, startAsynqDefault})
		}
	}
	return delays
}

// lateStarts pushes ids that become due over lateSpread, and returns how late
// their listeners got them.
func lateStarts(ctx context.Context, p delayer, ids []string) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, workTimeout, errors.New("it is stuck"))
	defer cancel()
	due := map[string]time.Time{}
	begin := time.Now().Add(settleDown + lateAhead).Truncate(time.Millisecond) // all know milliseconds
	for i, id := range ids {
		due[id] = begin.Add(lateSpread * time.Duration(i) / lateCount)
	}
	var mu sync.Mutex
	var late []time.Duration
	t := newTally(ids)
	err := during(ctx, p, told{folded: t.folded, started: func(id string) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		late = append(late, now.Sub(due[id]))
	}}, func(ctx context.Context) error {
		if err := wait(ctx, settleDown); err != nil {
			return err
		}
		pushing, pushCtx := errgroup.WithContext(ctx)
		pushing.SetLimit(16)
		for _, id := range ids {
			pushing.Go(func() error { return p.pushAt(pushCtx, id, due[id]) })
		}
		if err := pushing.Wait(); err != nil {
			return err
		}
		if now := time.Now(); now.After(begin) {
			return fmt.Errorf("the first one was due %v before all were pushed", now.Sub(begin))
		}
		return t.wait(ctx)
	})
	return late, errors.Join(err, t.wrong())
}
