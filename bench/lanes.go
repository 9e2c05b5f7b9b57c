package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

const (
	whatLanes     = "lanes, 2 listeners"
	whatOtherLane = "first job of another lane, behind 10,000 ids"
	withLanes     = "with lanes"
	withoutLanes  = "without lanes"
	longQueue     = 10_000
)

// fairness measures what lanes cost while no limit holds jobs back, and what they cost and give while limits do. Both
// take turns in each round.
func fairness(ctx context.Context, o options, dir string, r *results) error {
	s, err := startServers(ctx, nil, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	for round := range o.rounds {
		for _, lanes := range []bool{false, true} {
			for _, load := range []struct {
				name    string
				running int
			}{{"no limit holds", 1_000_000}, {"at most 1,000 run", 1000}} {
				p, err := freshLanes(ctx, s, lanes, load.running)
				if err != nil {
					return err
				}
				ids := idsOf(fmt.Sprintf("r%d-", round), 0, o.jobs)
				if err := throughput(ctx, s, p, whatLanes+", "+load.name, nameOfLanes(lanes), ids, r); err != nil {
					return err
				}
			}
			if err := otherLane(ctx, s, round, lanes, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func nameOfLanes(lanes bool) string {
	if lanes {
		return withLanes
	}
	return withoutLanes
}

func freshLanes(ctx context.Context, s servers, lanes bool, running int) (*fanfold, error) {
	if err := s.empty(ctx); err != nil {
		return nil, err
	}
	runtime.GC()
	return newFanfold(s.at(), fanfoldOptions{listeners: 2, lanes: lanes, running: running})
}

// otherLane measures when the first job of a lane ends that is pushed behind a long queue of another one, and how
// many jobs end before it.
func otherLane(ctx context.Context, s servers, round int, lanes bool, r *results) error {
	p, err := freshLanes(ctx, s, lanes, 100)
	if err != nil {
		return err
	}
	defer p.close()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	if err := p.push(ctx, idsOf("long-", round, longQueue)); err != nil {
		return err
	}
	var mu sync.Mutex
	ended, before, pushed := 0, 0, time.Time{}
	var took time.Duration
	first, half := make(chan struct{}), make(chan struct{})
	running, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() {
		failed <- p.run(running, told{folded: func(id string, _ error) {
			mu.Lock()
			defer mu.Unlock()
			if id == "other-1" {
				before, took = ended-before, time.Since(pushed)
				close(first)
			} else if ended++; ended == longQueue/20 {
				close(half)
			}
		}})
	}()
	select {
	case <-half:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", whatOtherLane, context.Cause(ctx))
	}
	mu.Lock()
	before, pushed = ended, time.Now()
	mu.Unlock()
	if err := p.push(ctx, []string{"other-1"}); err != nil {
		return err
	}
	select {
	case <-first:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", whatOtherLane, context.Cause(ctx))
	}
	stop()
	if err := <-failed; err != nil {
		return err
	}
	r.add(whatOtherLane, nameOfLanes(lanes), "ms", float64(took.Microseconds())/1000)
	r.add(whatOtherLane+", jobs before it", nameOfLanes(lanes), "jobs", float64(before))
	return nil
}
