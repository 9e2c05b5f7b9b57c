package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	withLanes    = "with lanes"
	withoutLanes = "without lanes"

	byThroughput = ", jobs/s, with lanes / without"
	byCPU        = ", CPU of a job, with lanes / without"
)

// lanePairs is how often both are measured in a round, for each load.
const lanePairs = 4

// laneLoads are how many jobs may run.
var laneLoads = []struct {
	what    string
	running int
}{{"lanes, no limit holds", 1_000_000}, {"lanes, at most 100 run", 100}}

// fairness measures what lanes cost while no limit holds jobs back, and what they cost and give while limits do. What
// they cost is the median of ratios of two measurements that follow one another, each time in the other order: what
// else the machine does slows both.
func fairness(ctx context.Context, o options, dir string, r *results) error {
	s, err := startServers(ctx, nil, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	for round := range o.rounds {
		for _, load := range laneLoads {
			for pair := range lanePairs {
				order := []bool{false, true}
				if pair%2 == 1 {
					slices.Reverse(order)
				}
				if err := compareLanes(ctx, s, load.what, load.running, order, o.jobs, r); err != nil {
					return err
				}
			}
		}
		for _, b := range bursts {
			if err := otherLane(ctx, s, b, true, r); err != nil {
				return err
			}
		}
		if round == 0 { // it waits for all the others, and is long enough to be measured once
			if err := otherLane(ctx, s, bursts[0], false, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareLanes measures jobs of one lane, with lanes and without.
func compareLanes(ctx context.Context, s servers, what string, running int, order []bool, jobs int, r *results) error {
	var rate, cpu [2]float64
	for _, lanes := range order {
		p, err := freshLanes(ctx, s, fanfoldOptions{listeners: 2, lanes: lanes, running: running})
		if err != nil {
			return err
		}
		w, err := work(ctx, s, p, idsOf("one-", 0, jobs))
		p.close()
		if err != nil {
			return fmt.Errorf("%s, %s: %w", what, nameOfLanes(lanes), err)
		}
		i, n := 0, float64(jobs)
		if lanes {
			i = 1
		}
		rate[i], cpu[i] = n/w.took.Seconds(), w.process.Seconds()+w.redis
		r.add(what, nameOfLanes(lanes), "jobs/s", rate[i])
		r.add(what+withServer, nameOfLanes(lanes), "µs/job", 1e6*w.redis/n)
		r.add(what+withCPU, nameOfLanes(lanes), "µs/job", 1e6*w.process.Seconds()/n)
	}
	r.add(what+byThroughput, withLanes, "x", rate[1]/rate[0])
	r.add(what+byCPU, withLanes, "x", cpu[1]/cpu[0])
	return nil
}

func nameOfLanes(lanes bool) string {
	if lanes {
		return withLanes
	}
	return withoutLanes
}

func freshLanes(ctx context.Context, s servers, o fanfoldOptions) (*fanfold, error) {
	if err := s.empty(ctx); err != nil {
		return nil, err
	}
	runtime.GC()
	return newFanfold(s.at(), o)
}

const (
	burstIDs = 10_000
	slowJob  = 200 * time.Millisecond

	untilRead   = ", until all ids are read"
	untilOther  = ", until the job of the other lane starts"
	beforeOther = ", jobs that end before it"
)

// burst is a load of which one lane has all jobs but the last.
type burst struct {
	what  string
	jobs  fanfoldOptions
	takes time.Duration // of a job
}

// bursts are one of jobs that take as long as queries do, where the limit of 60 jobs holds and that of 64 tasks does
// not, and one of jobs that take no time, with the default limit.
var bursts = []burst{
	{"burst of 10,000 ids, jobs of 200 ms", fanfoldOptions{listeners: 1, running: 60}, slowJob},
	{"burst of 10,000 ids, jobs that take no time", fanfoldOptions{listeners: 2, running: 1000}, 0},
}

// otherLane measures when the job of an id starts that is pushed right behind those of another lane, all to an engine
// that has nothing to do.
func otherLane(ctx context.Context, s servers, b burst, lanes bool, r *results) error {
	b.jobs.lanes, b.jobs.takes = lanes, b.takes
	p, err := freshLanes(ctx, s, b.jobs)
	if err != nil {
		return err
	}
	defer p.close()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	var mu sync.Mutex
	ended, before, started := 0, 0, time.Time{}
	first, other := make(chan struct{}), make(chan struct{})
	tell := told{
		folded: func(id string, _ error) {
			if id == "first-0" {
				close(first)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ended++
		},
		started: func(id string) {
			mu.Lock()
			defer mu.Unlock()
			if id == "other-0" && started.IsZero() { // each of its listeners tells
				before, started = ended, time.Now()
				close(other)
			}
		},
	}
	wait := func(c <-chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", b.what, context.Cause(ctx))
		}
	}
	return during(ctx, p, tell, func(ctx context.Context) error {
		if err := p.push(ctx, []string{"first-0"}); err != nil {
			return err
		}
		if err := wait(first); err != nil {
			return err
		}
		begin := time.Now()
		if err := p.push(ctx, idsOf("many-", 0, burstIDs)); err != nil {
			return err
		}
		pushed := time.Now()
		if err := p.push(ctx, []string{"other-0"}); err != nil {
			return err
		}
		for left := int64(1); lanes && left > 0; {
			if left, err = p.client.XLen(ctx, p.partitions[0].Keys.Jobs).Result(); err != nil {
				return err
			}
		}
		read := time.Since(begin)
		if err := wait(other); err != nil {
			return err
		}
		name := nameOfLanes(lanes)
		if lanes {
			r.add(b.what+untilRead, name, "ms", milliseconds(read))
		}
		r.add(b.what+untilOther, name, "ms", milliseconds(started.Sub(pushed)))
		r.add(b.what+beforeOther, name, "jobs", float64(before))
		return nil
	})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// laneTargets: lanes cost little, and a job waits for the reading of a burst of another lane and for one job.
func laneTargets() (all []target) {
	for _, load := range laneLoads {
		all = append(all,
			target{load.what + ": jobs/s", withoutLanes, "", ">= 0.95", of(load.what+byThroughput, withLanes)},
			target{load.what + ": CPU of a job, Redis + process", withoutLanes, "", "", of(load.what+byCPU, withLanes)})
	}
	slow, quick := bursts[0].what, bursts[1].what
	return append(all,
		target{slow + ": time to read them", "the time in which they run", "", "<= 0.02",
			over(slow+untilRead, withLanes, slow+untilOther, withoutLanes)},
		target{slow + ": wait of the job behind them", "the time to read them and of one job", "", "<= 1",
			func(f *figures) float64 {
				return f.median(slow+untilOther, withLanes) / (f.median(slow+untilRead, withLanes) + milliseconds(slowJob))
			}},
		target{quick + ": jobs that end before the one behind them", "", "jobs", "", of(quick+beforeOther, withLanes)})
}
