package dashboard

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/inspect"
)

const (
	// idleEvery is how often figures are read while nobody looks, for the charts.
	idleEvery = 15 * time.Second
	// liveEvery is how often everything is read, at most, while somebody looks.
	liveEvery = 2 * time.Second
	// looked is how long after a request somebody is taken to look.
	looked = 30 * time.Second
	// rest is how many times as long as it has worked a sampler rests, so that it reads Redis for 1 % of the time at most.
	rest = 100
	// maxJobs is how many jobs that run are listed, and how many members of other lists.
	maxJobs, maxListed = 20_000, 1000
	// maxDead is how many dead jobs are read, the newest ones.
	maxDead = 5000
	// deadEvery is how often the records of dead jobs are read again, and quarantined entries.
	deadEvery = 30 * time.Second
	// sampleTime bounds a sample.
	sampleTime = 20 * time.Second
)

// sample is what Redis and the records said at a time. It does not change.
type sample struct {
	Number   int64
	Began    time.Time
	At       time.Time // when all of it was read
	Whole    bool      // somebody looked: the lists were read, and not the figures alone
	Err      error     // nil: all of it was read
	Jobs     []inspect.Running
	Later    map[string][]inspect.Delayed // retries by the id of their job
	Delayed  []inspect.Delayed            // ids that are due later
	Timers   []inspect.Timer
	Pauses   []inspect.Pause
	Dead     []inspect.DeadJob
	Aside    []inspect.Quarantined // the newest first
	Figures  inspect.Sums
	Away     string // what does not answer; empty: all do
	Sources  []source
	Settings settings
	Sink     string // why the sink does not answer; empty: it does
	// Processes is how many processes run; -1: not known. Versions are those of their program.
	Processes int
	Versions  []string
	Used      map[string]int64 // tasks that have a slot, by source
}

// sampler reads for all browsers.
type sampler struct {
	o    Options
	now  atomic.Pointer[sample]
	seen atomic.Int64  // when somebody looked last, in unix milliseconds
	wake chan struct{} // somebody looks again
	old  atomic.Bool   // what is read seldom is to be read again

	mu      sync.Mutex
	changed chan struct{} // closed with the next sample
	history history

	place inspect.Cursor // in the events
	dead  time.Time      // when the records of dead jobs were read, and quarantined entries
	died  [2]float64     // how many of them there were

	sources  aside[[]source]
	settings aside[settings]
	sink     aside[string]
}

func newSampler(o Options) *sampler {
	s := &sampler{o: o, wake: make(chan struct{}, 1), changed: make(chan struct{})}
	s.now.Store(&sample{})
	return s
}

// look returns the newest sample with all lists. If there is none yet, or nobody has looked for a
// while, it waits for one as long as ctx lasts.
func (s *sampler) look(ctx context.Context) *sample {
	s.seen.Store(time.Now().UnixMilli())
	for {
		next, now := s.next(), s.now.Load()
		if now.Whole && time.Since(now.At) < looked {
			return now
		}
		s.poke()
		select {
		case <-next:
		case <-ctx.Done():
			return now
		}
	}
}

// refresh waits for a sample that has what was changed before the call, for as long as ctx lasts.
func (s *sampler) refresh(ctx context.Context) {
	changed := time.Now()
	s.old.Store(true)
	s.seen.Store(changed.UnixMilli())
	for {
		next := s.next()
		if s.now.Load().Began.After(changed) {
			return
		}
		s.poke()
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// poke has the next sample made at once.
func (s *sampler) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next is closed with the next sample.
func (s *sampler) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// run samples until ctx ends.
func (s *sampler) run(ctx context.Context) {
	defer s.sources.asking.Wait()
	defer s.settings.asking.Wait()
	defer s.sink.asking.Wait()
	for ctx.Err() == nil {
		began := time.Now()
		live := began.Sub(time.UnixMilli(s.seen.Load())) < looked
		s.take(ctx, live)
		pause := min(max(rest*time.Since(began), liveEvery), looked/2)
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

// take makes the next sample: figures, and the lists if somebody looks.
func (s *sampler) take(ctx context.Context, live bool) {
	limited, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	before := s.now.Load()
	next := *before // what cannot be read stays as it was
	next.Number, next.Whole, next.Began = before.Number+1, live, time.Now()
	next.Err = s.read(limited, &next, live)
	if next.Err != nil && ctx.Err() == nil {
		s.o.Log.Debug("sample for the dashboard", "err", next.Err)
	}
	next.At = time.Now()
	s.now.Store(&next)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// read fills a sample, as far as the servers answer.
func (s *sampler) read(ctx context.Context, to *sample, live bool) error {
	found, err := s.o.Inspect.Figures(ctx)
	to.Figures = inspect.Sum(found) // of the partitions that answer
	if err != nil {
		return err
	}
	told, place, err := s.o.Inspect.Told(ctx, s.place)
	if err != nil {
		return err
	}
	s.place = place
	s.mu.Lock()
	s.history.add(time.Now(), to.Figures, told)
	s.mu.Unlock()
	if !live {
		return nil
	}
	to.Away = ""
	if err := s.o.Ready(ctx); err != nil {
		to.Away = err.Error()
	}
	processes, err := s.o.Processes(ctx)
	if to.Processes, to.Versions = len(processes), versions(processes); err != nil {
		to.Processes = -1
	}
	if to.Used, err = s.o.Used(ctx, slices.Collect(maps.Keys(s.o.Bounds))); err != nil {
		return err
	}
	if to.Jobs, err = s.o.Inspect.Running(ctx, maxJobs); err != nil {
		return err
	}
	later, err := s.o.Inspect.Delayed(ctx, func(inspect.Delayed) bool { return true }, maxJobs)
	if err != nil {
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
	if to.Timers, err = s.o.Inspect.Timers(ctx, func(string) bool { return true }, maxListed); err != nil {
		return err
	}
	if to.Pauses, err = s.o.Inspect.Pauses(ctx); err != nil {
		return err
	}
	before := to.Sources
	to.Sources = s.sources.look(reachEvery, func() []source { return reach(context.WithoutCancel(ctx), s.o, before) })
	to.Settings = s.settings.look(settingsEvery, func() settings { return readSettings(context.WithoutCancel(ctx), s.o) })
	to.Sink = s.sink.look(settingsEvery, func() string { return readSink(context.WithoutCancel(ctx), s.o) })
	if died := [2]float64{to.Figures.Of("jobs_dead", ""), to.Figures.Of("quarantined", "")}; s.old.Swap(false) || died != s.died || time.Since(s.dead) > deadEvery {
		if to.Dead, err = s.o.Inspect.Dead(ctx, func(inspect.DeadJob) bool { return true }, maxDead); err != nil {
			return err
		}
		if to.Aside, err = s.o.Inspect.Quarantine(ctx, func(inspect.Quarantined) bool { return true }, maxListed); err != nil {
			return err
		}
		s.dead, s.died = time.Now(), died
	}
	return nil
}
