package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const whatIdle = "one job when idle, 2 listeners, push to fold"

const (
	idleJobs  = 200
	idlePause = 10 * time.Millisecond // between two jobs: the next one comes to idle workers
)

// idle measures one job after the other, from the push until its fold.
func idle(ctx context.Context, o options, dir string, r *results) error {
	list, err := choose(ctx, o.systems, r)
	if err != nil {
		return err
	}
	s, err := startServers(ctx, list, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	for round := range o.rounds {
		for _, x := range list {
			p, err := fresh(ctx, s, x, 2)
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			took, err := oneByOne(ctx, p, idsOf("i", round, idleJobs))
			p.close()
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			r.distribution(whatIdle, x.name, took)
		}
	}
	return nil
}

// oneByOne pushes each id when the one before has been folded.
func oneByOne(ctx context.Context, p peer, ids []string) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, workTimeout, errors.New("it is stuck"))
	defer cancel()
	t := newTally(ids)
	folds := make(chan time.Time, len(ids))
	var took []time.Duration
	err := during(ctx, p, told{folded: func(id string, err error) {
		folds <- time.Now()
		t.folded(id, err)
	}}, func(ctx context.Context) error {
		if err := wait(ctx, settleDown); err != nil {
			return err
		}
		for _, id := range ids {
			begin := time.Now()
			if err := p.push(ctx, []string{id}); err != nil {
				return err
			}
			select {
			case at := <-folds:
				took = append(took, at.Sub(begin))
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := wait(ctx, idlePause); err != nil {
				return err
			}
		}
		return nil
	})
	return took, errors.Join(err, t.wrong())
}

// settleDown is how long workers have for connecting and subscribing.
const settleDown = 500 * time.Millisecond
