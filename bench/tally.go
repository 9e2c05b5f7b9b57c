package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// tally counts how often each job was folded.
type tally struct {
	mu      sync.Mutex
	folds   map[string]int
	missing int
	first   error         // the first thing that was wrong
	all     chan struct{} // closed when every job was folded
}

func newTally(ids []string) *tally {
	t := &tally{folds: make(map[string]int, len(ids)), missing: len(ids), all: make(chan struct{})}
	for _, id := range ids {
		t.folds[id] = 0
	}
	return t
}

func (t *tally) folded(id string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	times, known := t.folds[id]
	switch {
	case err != nil:
		err = fmt.Errorf("job %s: %w", id, err)
	case !known:
		err = fmt.Errorf("nobody pushed job %s", id)
	case times > 0:
		err = fmt.Errorf("job %s was folded twice", id)
	}
	if t.first == nil {
		t.first = err
	}
	t.folds[id]++
	if known && times == 0 {
		if t.missing--; t.missing == 0 {
			close(t.all)
		}
	}
}

// wrong says what was wrong with any job, once the peer has ended.
func (t *tally) wrong() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil && t.missing > 0 {
		return fmt.Errorf("%d jobs were not folded", t.missing)
	}
	return t.first
}

// workTimeout is how long one measurement may take before it counts as stuck: this,
// and more where there are many jobs.
const (
	workTimeout    = 2 * time.Minute
	workTimeoutJob = 2 * time.Millisecond
)

// worked is what the work on some jobs has cost.
type worked struct {
	pushed time.Duration // the pushing took this long
	took   time.Duration // from the start of the peer until every job was folded and its hash gone
	redis  float64       // CPU of all Redis servers in that time, in s
	// busiest is that of the one that has used most.
	busiest float64

	process time.Duration // CPU of this process in that time
}

// work pushes all ids, starts the peer, and waits until their jobs have ended.
// It is an error when a job was not folded exactly once with all of its numbers.
func work(ctx context.Context, s servers, p peer, ids []string) (w worked, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, workTimeout+time.Duration(len(ids))*workTimeoutJob, errors.New("it is stuck"))
	defer cancel()
	client := s.client()
	defer client.Close()
	t := newTally(ids)
	start := time.Now()
	if err := p.push(ctx, ids); err != nil {
		return w, fmt.Errorf("push: %w", err)
	}
	w.pushed = time.Since(start)
	before, err := s.used(ctx)
	if err != nil {
		return w, err
	}
	start, began := time.Now(), usedCPU()
	err = during(ctx, p, told{folded: t.folded}, func(ctx context.Context) error {
		if err := t.wait(ctx); err != nil {
			return err
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			left, err := hashes(ctx, client, p, ids)
			if err != nil {
				return err
			}
			if left == 0 {
				w.took, w.process = time.Since(start), usedCPU()-began
				after, err := s.used(ctx)
				for i := range after {
					used := after[i] - before[i]
					w.redis, w.busiest = w.redis+used, max(w.busiest, used)
				}
				return err
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%d hashes are left: %w", left, context.Cause(ctx))
			case <-tick.C:
			}
		}
	})
	if err == nil {
		err = t.wrong()
	}
	if err == nil { // nothing that came late has made one again
		if left, exists := hashes(ctx, client, p, ids); exists != nil || left != 0 {
			err = fmt.Errorf("%d hashes are there again: %w", left, exists)
		}
	}
	return w, err
}

func (t *tally) wait(ctx context.Context) error {
	select {
	case <-t.all:
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), t.wrong())
	}
}

// hashes counts the hashes of these jobs.
func hashes(ctx context.Context, client redis.UniversalClient, p peer, ids []string) (n int64, err error) {
	for some := range slices.Chunk(ids, 10_000) {
		keys := map[string][]string{} // by hash tag: a command has keys of one slot
		for _, id := range some {
			key := p.hash(id)
			tag, _, _ := strings.Cut(key, id)
			keys[tag] = append(keys[tag], key)
		}
		for _, of := range keys {
			left, err := client.Exists(ctx, of...).Result()
			if err != nil {
				return 0, err
			}
			n += left
		}
	}
	return n, nil
}

// during runs the peer for as long as do takes; that either fails ends both.
func during(ctx context.Context, p peer, tell told, do func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error {
		if err := p.run(ctx, tell); err != nil {
			return fmt.Errorf("run: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		defer stop()
		return do(ctx)
	})
	return group.Wait()
}
