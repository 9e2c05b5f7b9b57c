package dashboard

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
)

const (
	// idleEvery is the pause between samples for the charts while no browser is active.
	idleEvery = 15 * time.Second
	// liveEvery is the minimum pause between samples while a browser is active.
	liveEvery = 2 * time.Second
	// activeFor is how long a browser counts as active after a request.
	activeFor = 30 * time.Second
	// restFactor times the duration of a sample is the pause after it: a sampler reads Redis at most 1 % of the
	// time.
	restFactor = 100
	// deadEvery is how often dead jobs and quarantined entries are read if their numbers do not change.
	deadEvery = 30 * time.Second
	// sampleTimeout bounds a sample.
	sampleTimeout = 20 * time.Second
	// lateAfter is how long a sample may take until pages say that they are not up to date.
	lateAfter = 3 * time.Second
	// latestWait is the maximum time that a page waits for a sample.
	latestWait = 4 * time.Second
)

// errLate is the error of a sample that has taken too long already.
var errLate = fmt.Errorf("no answer within %s", lateAfter)

// sampler reads Redis and the records for all browsers.
type sampler struct {
	o           Options
	now         atomic.Pointer[sample]
	lastRequest atomic.Int64  // in Unix milliseconds
	wake        chan struct{} // ends a pause
	stale       atomic.Bool   // the next sample must also read dead jobs and quarantined entries

	mu      sync.Mutex
	changed chan struct{} // closed with the next sample
	history history

	deadRead   time.Time  // when dead jobs and quarantined entries were read
	deadCounts [2]float64 // their numbers then

	sources  aged.Latest[[]source]
	settings aged.Latest[settings]

	ready, sink, spool probe
}

func newSampler(o Options) *sampler {
	s := &sampler{o: o, wake: make(chan struct{}, 1), changed: make(chan struct{})}
	s.sources.Every, s.settings.Every = sourcesEvery, settingsEvery
	s.ready.ask, s.sink.ask, s.spool.ask = o.Ready, o.Sink, o.Spool
	s.now.Store(&sample{})
	return s
}

// latest returns the newest sample with all lists. If it is older than activeFor, or none exists, latest waits
// for a new one, up to latestWait; then it returns what exists.
func (s *sampler) latest(ctx context.Context) *sample {
	s.lastRequest.Store(time.Now().UnixMilli())
	ctx, cancel := context.WithTimeout(ctx, latestWait)
	defer cancel()
	return s.wait(ctx, func(now *sample) bool {
		return now.Full && time.Since(later(now.At, now.Ended)) < activeFor
	})
}

// refresh waits until ctx ends for a sample that begins after the call, which shows earlier changes.
func (s *sampler) refresh(ctx context.Context) {
	changed := time.Now()
	s.stale.Store(true)
	s.lastRequest.Store(changed.UnixMilli())
	s.wait(ctx, func(now *sample) bool { return now.Began.After(changed) })
}

// wait starts samples until one suffices or ctx ends, and returns the last one.
func (s *sampler) wait(ctx context.Context, suffices func(*sample) bool) *sample {
	for {
		next, now := s.next(), s.now.Load()
		if suffices(now) {
			return now
		}
		s.wakeUp()
		select {
		case <-next:
		case <-ctx.Done():
			return now
		}
	}
}

// wakeUp starts the next sample at once.
func (s *sampler) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next returns a channel that is closed with the next sample.
func (s *sampler) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// run takes samples until ctx ends.
func (s *sampler) run(ctx context.Context) {
	defer s.sources.Wait()
	defer s.settings.Wait()
	for ctx.Err() == nil {
		began := time.Now()
		live := began.Sub(time.UnixMilli(s.lastRequest.Load())) < activeFor
		s.runOnce(ctx, live)
		pause := min(max(restFactor*time.Since(began), liveEvery), activeFor/2)
		if !live {
			pause = max(pause, idleEvery)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// runOnce takes a sample: the figures, and if live also the lists.
func (s *sampler) runOnce(ctx context.Context, live bool) {
	limited, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	before := s.now.Load()
	next := *before // what cannot be read keeps its last value
	next.Full, next.Began = live, time.Now()
	stop := s.warn(next)
	next.Err = s.read(limited, &next, live)
	if next.Err != nil && ctx.Err() == nil {
		s.o.Log.Debug("cannot read the data of the dashboard", "err", next.Err)
	}
	stop()
	if next.Ended = time.Now(); next.Err == nil {
		next.At = next.Ended
	}
	s.publish(next)
}

// warn publishes the values of the previous sample as late if the new one takes longer than lateAfter.
// After stop, it publishes nothing.
func (s *sampler) warn(before sample) (stop func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(lateAfter, func() {
		defer close(done)
		before.Err, before.Ended = errLate, time.Now()
		s.publish(before)
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

// publish makes a sample the latest one.
func (s *sampler) publish(next sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next.Number = s.now.Load().Number + 1
	s.now.Store(&next)
	close(s.changed)
	s.changed = make(chan struct{})
}

// read fills a sample. It stops at the first error.
func (s *sampler) read(ctx context.Context, to *sample, live bool) error {
	if err := s.readFigures(ctx, to); err != nil || !live {
		return err
	}
	s.readServers(ctx, to)
	for _, read := range lists {
		if err := read(ctx, s.o.Inspect, to); err != nil {
			return err
		}
	}
	// These are read outside the samples.
	outside, before := context.WithoutCancel(ctx), to.Sources
	to.Sources = s.sources.Get(func() []source { return connectAll(outside, s.o, before) })
	to.Settings = s.settings.Get(func() settings { return readSettings(outside, s.o) })
	return s.readDead(ctx, to)
}

// readFigures reads the figures.
func (s *sampler) readFigures(ctx context.Context, to *sample) error {
	found, err := s.o.Inspect.Figures.Read(ctx)
	if err != nil {
		found = inspect.Renew(to.found, found) // some partitions may answer
	}
	to.found, to.Figures = found, inspect.Sum(found)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = s.history.add(time.Now(), to.Figures)
	return nil
}

// readServers asks whether the servers answer, and which processes run.
func (s *sampler) readServers(ctx context.Context, to *sample) {
	to.Ready, to.Sink, to.Spool = s.ready.read(ctx), s.sink.read(ctx), s.spool.read(ctx)
	processes, err := s.o.Processes(ctx)
	to.Processes, to.Versions = len(processes), versions(processes)
	if err != nil {
		to.Processes = -1
	}
}

// readDead reads dead jobs and quarantined entries if they may have changed.
func (s *sampler) readDead(ctx context.Context, to *sample) error {
	counts := [2]float64{to.Figures.Of("jobs_dead", ""), to.Figures.Of("quarantined", "")}
	stale := s.stale.Swap(false)
	if !stale && counts == s.deadCounts && time.Since(s.deadRead) <= deadEvery {
		return nil
	}
	every := func(inspect.DeadJob) bool { return true }
	if err := keep(&to.Dead)(s.o.Inspect.Dead.List(ctx, every, maxDead)); err != nil {
		return err
	}
	all := func(inspect.Quarantined) bool { return true }
	if err := keep(&to.Quarantined)(s.o.Inspect.Quarantine.List(ctx, all, maxListed)); err != nil {
		return err
	}
	s.deadRead, s.deadCounts = time.Now(), counts
	return nil
}
