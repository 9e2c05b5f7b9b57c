package dashboard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/scripts"
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
	// maxJobs is the maximum number of running jobs and of delayed members in a sample, and maxListed that of
	// other lists.
	maxJobs, maxListed = 20_000, 1000
	// maxDead is the maximum number of dead jobs in a sample, the newest ones.
	maxDead = 5000
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

// sample is what was read from Redis and the records at a time. It is immutable. What could not be read
// is that of the previous sample.
type sample struct {
	Number      int64
	Began       time.Time
	At          time.Time // end of the last read without an error; zero: there was none
	Ended       time.Time // end of the last read
	Full        bool      // a browser was active: the lists were read too, not only the figures
	Err         error     // nil: everything was read
	Jobs        []inspect.Running
	Later       map[string][]inspect.Delayed // retries, by the id of their job
	Failed      map[string]bool              // members of Later whose step failed
	Delayed     []inspect.Delayed            // ids that are due later
	Timers      []inspect.Timer
	Pauses      []inspect.Pause
	Dead        []inspect.DeadJob
	Quarantined []inspect.Quarantined // newest first
	Figures     inspect.Sums          // of found
	found       []inspect.Figure
	NotReady    string // which server does not answer; empty: none
	Sources     []source
	Settings    settings
	Sink        sinkState
	// Processes is the number of running processes; -1: unknown. Versions are their distinct versions.
	Processes int
	Versions  []string
	Holders   map[string][]scripts.Holder // tasks that have a slot, by source
	Slots     map[string]int              // tasks that have a slot, by listener of a source with a limit
}

// DeadCut reports whether there can be dead jobs that the sample does not have: their number is at least that of
// the sample.
func (s *sample) DeadCut() bool { return len(s.Dead) >= maxDead }

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

	cursor     inspect.Cursor // in the events
	deadRead   time.Time      // when dead jobs and quarantined entries were read
	deadCounts [2]float64     // their numbers then

	sources  aged.Latest[[]source]
	settings aged.Latest[settings]
	sink     aged.Latest[sinkState]
	hung     atomic.Bool // a question to the sink has no answer yet
}

func newSampler(o Options) *sampler {
	s := &sampler{o: o, wake: make(chan struct{}, 1), changed: make(chan struct{})}
	s.sources.Every, s.settings.Every, s.sink.Every = sourcesEvery, settingsEvery, settingsEvery
	s.now.Store(&sample{})
	return s
}

// latest returns the newest sample with all lists. If it is older than activeFor, or none exists, latest waits
// for a new one, up to latestWait; then it returns what exists.
func (s *sampler) latest(ctx context.Context) *sample {
	s.lastRequest.Store(time.Now().UnixMilli())
	ctx, cancel := context.WithTimeout(ctx, latestWait)
	defer cancel()
	for {
		next, now := s.next(), s.now.Load()
		if now.Full && time.Since(later(now.At, now.Ended)) < activeFor {
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

// refresh waits until ctx ends for a sample that begins after the call, which shows earlier changes.
func (s *sampler) refresh(ctx context.Context) {
	changed := time.Now()
	s.stale.Store(true)
	s.lastRequest.Store(changed.UnixMilli())
	for {
		next := s.next()
		if s.now.Load().Began.After(changed) {
			return
		}
		s.wakeUp()
		select {
		case <-next:
		case <-ctx.Done():
			return
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
	defer s.sink.Wait()
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

// keep returns a function that stores a value unless it comes with an error.
func keep[T any](to *T) func(T, error) error {
	return func(found T, err error) error {
		if err == nil {
			*to = found
		}
		return err
	}
}

// read fills a sample. It stops at the first error.
func (s *sampler) read(ctx context.Context, to *sample, live bool) error {
	found, err := s.o.Inspect.Figures(ctx)
	if err != nil {
		found = inspect.Renew(to.found, found) // some partitions may answer
	}
	to.found, to.Figures = found, inspect.Sum(found)
	if err != nil {
		return err
	}
	counts, cursor, err := s.o.Inspect.Told(ctx, s.cursor)
	if err != nil {
		return err
	}
	s.cursor = cursor
	s.mu.Lock()
	s.history.add(time.Now(), to.Figures, counts)
	s.mu.Unlock()
	if !live {
		return nil
	}
	to.NotReady = ""
	if err := s.o.Ready(ctx); err != nil {
		to.NotReady = err.Error()
	}
	processes, err := s.o.Processes(ctx)
	if to.Processes, to.Versions = len(processes), versions(processes); err != nil {
		to.Processes = -1
	}
	if err := keep(&to.Holders)(s.o.Inspect.Holders(ctx)); err != nil {
		return err
	}
	to.Slots = s.o.Inspect.HavingSlots(to.Holders)
	if err := keep(&to.Jobs)(s.o.Inspect.Running(ctx, maxJobs)); err != nil {
		return err
	}
	later, err := s.o.Inspect.Delayed(ctx, func(inspect.Delayed) bool { return true }, maxJobs)
	if err != nil {
		return err
	}
	retries := slices.DeleteFunc(slices.Clone(later), func(d inspect.Delayed) bool { return !d.Retry() })
	if err := keep(&to.Failed)(s.o.Inspect.Failed(ctx, retries)); err != nil {
		return err
	}
	to.Later, to.Delayed = map[string][]inspect.Delayed{}, nil
	for _, d := range later {
		if d.Retry() {
			to.Later[d.ID] = append(to.Later[d.ID], d)
		} else if len(to.Delayed) < maxListed {
			to.Delayed = append(to.Delayed, d)
		}
	}
	if err := keep(&to.Timers)(s.o.Inspect.Timers(ctx, func(string) bool { return true }, maxListed)); err != nil {
		return err
	}
	if err := keep(&to.Pauses)(s.o.Inspect.Pauses(ctx)); err != nil {
		return err
	}
	before := to.Sources
	to.Sources = s.sources.Get(func() []source { return connectAll(context.WithoutCancel(ctx), s.o, before) })
	to.Settings = s.settings.Get(func() settings { return readSettings(context.WithoutCancel(ctx), s.o) })
	to.Sink = s.sink.Get(func() sinkState { return readSink(context.WithoutCancel(ctx), s.o, &s.hung) })
	if counts := [2]float64{to.Figures.Of("jobs_dead", ""), to.Figures.Of("quarantined", "")}; s.stale.Swap(false) || counts != s.deadCounts || time.Since(s.deadRead) > deadEvery {
		if err := keep(&to.Dead)(s.o.Inspect.Dead(ctx, func(inspect.DeadJob) bool { return true }, maxDead)); err != nil {
			return err
		}
		if err := keep(&to.Quarantined)(s.o.Inspect.Quarantine(ctx, func(inspect.Quarantined) bool { return true }, maxListed)); err != nil {
			return err
		}
		s.deadRead, s.deadCounts = time.Now(), counts
	}
	return nil
}
