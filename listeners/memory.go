package listeners

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// room is what a task does whose data a full Redis refuses.
type room int

// The rooms. Jobs compete for memory by wound-wait (Rosenkrantz, Stearns and Lewis, "System level
// concurrency control for distributed database systems", 1978): the oldest one always goes on.
const (
	roomFree     room = iota // there is memory now: store the data again
	roomWait                 // memory is about to be freed: poll again
	roomPreempt              // preempt the youngest job
	roomYield                // older jobs have the memory: preempt this one
	roomNone                 // no other job has memory worth freeing, and this job fills Redis
	roomOccupied             // what fills Redis is not the data of jobs
)

// contend decides what a task of the job me does that needs memory for some bytes. Others are the
// running jobs that hold data in the same server; victim is the job to preempt, or the one for which me
// is preempted. Small jobs compete only if no job is large, but also if they hold little of the server together:
// every one may hold a dataset and need memory for another, and if all waited, none would end.
func contend(u scripts.Usage, me scripts.Contender, others []scripts.Contender,
	need int64) (what room, victim scripts.Contender) {
	var held int64
	small := me.Small
	for _, c := range others {
		held += c.Bytes
		small = small && c.Small
	}
	var ending bool
	var eldest, youngest scripts.Contender
	for _, c := range others {
		switch {
		case c.Small != small:
		case c.Status != job.StatusRun:
			ending = true
		case me.Before(c) && (youngest.ID == "" || youngest.Before(c)):
			youngest = c
		case c.Before(me) && (eldest.ID == "" || c.Before(eldest)):
			eldest = c
		}
	}
	switch {
	// A chunk that is being sent is in a buffer of its client, too.
	case u.Max == 0 || u.Used+2*need < u.Max:
		return roomFree, victim
	case u.Freeing:
		return roomWait, victim
	case held < me.Bytes/10 && me.Bytes > u.Used/2:
		return roomNone, victim
	case held < me.Bytes/10 || me.Small != small:
		return roomOccupied, victim
	case youngest.ID != "":
		return roomPreempt, youngest
	case ending:
		return roomWait, victim
	case eldest.ID != "":
		return roomYield, eldest
	}
	return roomOccupied, victim
}

const (
	// roomPatience is how long a task waits for memory with its query open, before its job makes room.
	roomPatience = 10 * time.Second
	// roomBelief is how long Redis must look the same before a task gives up for good: deleted keys may
	// still be being freed.
	roomBelief = 2 * time.Second
	// usageAge and holdersAge are how old the answers may be that the tasks of a process share.
	usageAge   = 200 * time.Millisecond
	holdersAge = time.Second
)

// memory carries out for the tasks of a Runner what contend decides. They share what they know of a
// full Redis, so that they do not ask all the time. It is safe for concurrent use.
type memory struct {
	o       *Options
	log     *slog.Logger
	metrics *metrics

	mu      sync.Mutex
	usage   scripts.Usage
	holders []scripts.Contender
	usedAt  time.Time
	heldAt  time.Time
}

// look returns the usage of the server, and the jobs that hold data in it.
func (m *memory) look(ctx context.Context) (scripts.Usage, []scripts.Contender, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.usedAt) > usageAge {
		usage, err := m.o.Scripts.Memory.Usage(ctx)
		if err != nil {
			return usage, nil, err
		}
		m.usage, m.usedAt = usage, time.Now()
	}
	if time.Since(m.heldAt) > holdersAge {
		holders, err := m.o.Partitions.Holders(ctx, m.o.Scripts)
		if err != nil {
			return m.usage, nil, err
		}
		m.holders, m.heldAt = holders, time.Now()
	}
	return m.usage, m.holders, nil
}

// store stores data of a task. While Redis is full, it makes room as contend says, and stores the data
// again once there is memory; ErrFull never leaves it.
func (m *memory) store(ctx context.Context, of scripts.Message, need int64,
	store func() (scripts.Outcome, error)) (scripts.Outcome, error) {
	var began time.Time
	for {
		outcome, err := step.Insist(ctx, m.log, "store chunk", store, step.UnlessFull)
		switch {
		case err == nil:
			return outcome, nil
		case !errors.Is(err, scripts.ErrFull):
			return 0, away(err)
		}
		if began.IsZero() {
			began = time.Now()
		}
		for found := roomWait; found != roomFree; {
			if step.Wait(ctx, usageAge) != nil {
				return 0, away(context.Cause(ctx))
			}
			if found, err = m.contend(ctx, of, need, time.Since(began)); err != nil {
				return 0, err
			}
		}
	}
}

// contend carries out what a task of a full Redis does that has waited for some time, once. The data
// may be stored again after roomFree; an error ends the try.
func (m *memory) contend(ctx context.Context, of scripts.Message, need int64, waited time.Duration) (room, error) {
	usage, holders, err := m.look(ctx)
	if err != nil {
		return 0, away(err)
	}
	var me scripts.Contender
	var others []scripts.Contender
	for _, c := range holders {
		if c.ID == of.ID {
			me = c
		} else {
			others = append(others, c)
		}
	}
	if me.Attempt != of.Attempt { // it holds nothing
		return 0, Outage(scripts.ErrFull)
	}
	what, other := contend(usage, me, others, need)
	switch {
	case (what == roomNone || what == roomOccupied) && waited < roomBelief:
		what = roomWait
	case (what == roomWait || what == roomFree) && waited > roomPatience:
		what, other = roomYield, me
	}
	switch what {
	case roomPreempt:
		return what, m.preempt(ctx, other, me)
	case roomYield:
		if err := m.preempt(ctx, me, other); err != nil {
			return 0, err
		}
		return 0, ErrEnded
	case roomNone:
		return 0, Permanent(errReport.Of(tooLarge(usage, me, others, need)))
	case roomOccupied:
		return 0, Outage(fmt.Errorf("%w, of other data than that of this job; it needs more maxmemory, or less of that data", scripts.ErrFull))
	}
	return what, nil
}

// preempt ends the attempt of a job for an older one. The next look asks again.
func (m *memory) preempt(ctx context.Context, victim, older scripts.Contender) error {
	outcome, err := m.o.Scripts.Memory.Preempt(ctx, victim, older)
	m.mu.Lock()
	m.usedAt, m.heldAt = time.Time{}, time.Time{}
	m.mu.Unlock()
	if err != nil {
		return away(err)
	}
	if outcome == scripts.OK {
		m.metrics.preempted.Inc()
		m.log.Warn("preempted a job of a full Redis; it starts again later", "job", victim.ID, "attempt",
			victim.Attempt, "bytes", victim.Bytes, "for", older.ID)
	}
	return nil
}

// tooLarge is the reason of a job that Redis can never hold.
func tooLarge(u scripts.Usage, me scripts.Contender, others []scripts.Contender, need int64) error {
	var held int64
	for _, h := range others {
		held += h.Bytes
	}
	return fmt.Errorf("the job does not fit into Redis: it has stored %s, and the next %s do not fit into maxmemory (%s), of which other jobs hold %s and everything else %s: "+
		"reduce the result size, set limits.redis_compression: zstd, or raise maxmemory", size(me.Bytes), size(need),
		size(u.Max), size(held), size(max(0, u.Used-me.Bytes-held)))
}

// size formats a number of bytes for people.
func size(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20)) }
