package trigger

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/engine"
)

// admission says how many jobs may still be started.
type admission struct {
	*engine.Engine
	full   atomic.Bool  // Redis is nearly full
	made   time.Time    // when the admission was created
	polled atomic.Int64 // last poll of Redis's memory, as time since made; 0: never
}

// free returns how many jobs may still be started. It is none while Redis is nearly full, because
// running jobs need the rest to end. Several processes may see the same number: the limit can be
// exceeded by one batch per process.
func (a *admission) free(ctx context.Context) (int, error) {
	if err := a.pollMemory(ctx); err != nil || a.full.Load() {
		return 0, err
	}
	running, err := a.Scripts.Jobs.Running(ctx)
	return a.Limits.RunningJobs - int(running), err
}

// memoryEvery is the time between two polls of Redis's memory.
const memoryEvery = time.Second

// pollMemory stores whether Redis is nearly full.
func (a *admission) pollMemory(ctx context.Context) error {
	now := int64(time.Since(a.made)) // monotonic
	if last := a.polled.Load(); last != 0 && now-last < int64(memoryEvery) {
		return nil
	}
	usage, err := a.Scripts.Memory.Usage(ctx)
	if err != nil {
		return err
	}
	a.polled.Store(now)
	if full := usage.Percent() > a.Limits.RedisMemoryPercent; full != a.full.Swap(full) {
		a.Log.Warn("memory of Redis crossed limits.redis_memory_percent",
			"percent", usage.Percent(), "limit", a.Limits.RedisMemoryPercent, "starting jobs", !full)
	}
	return nil
}
