package recovery

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/redis/go-redis/v9"
)

const (
	// mirrorEvery is the time between two passes over the sets that are mirrored.
	mirrorEvery = 2 * time.Second
	// mirrorPage is how many members are read from Redis at once.
	mirrorPage = 1000
	// mirrorMost is how many members of a set one pass reads; the next one goes on
	// where it ended.
	mirrorMost = 10_000
	// mirrorReload is how often the copy in memory is read from MySQL anew.
	mirrorReload = 10 * time.Minute
	// longestMember is what the table takes, in bytes.
	longestMember = 255
)

// sets are the sorted sets that are mirrored.
func (r *Recovery) sets() []string {
	k := r.o.Scripts.Keys
	return []string{k.PausedSet(), k.Delayed(), k.Timers(), k.PausedTimers()}
}

// mirror keeps the copy of the sets in MySQL: every two seconds the differences
// are written. One process does so, under a lock.
func (r *Recovery) mirror(ctx context.Context) error {
	m := &mirror{Recovery: r}
	defer m.forget()
	return step.Every(ctx, r.log, r.o.MirrorEvery, "mirror due times and timers", m.pass)
}

// mirror is what the process that mirrors has in memory.
type mirror struct {
	*Recovery
	held    context.Context // ends when the lock is lost; nil without it
	release func()
	epoch   string // of the copies
	number  int64  // of writes that were counted in Redis
	loaded  time.Time
	copies  []*setCopy
}

// forget gives the lock back.
func (m *mirror) forget() {
	if m.held != nil {
		m.release()
	}
	m.held, m.copies = nil, nil
}

// pass compares the sets with their copies and writes what differs. It writes
// nothing where Redis has not the memory that MySQL knows, or not the last of it:
// what is missing then was lost, not removed.
func (m *mirror) pass(ctx context.Context) error {
	err := m.compare(ctx)
	if errors.Is(err, ErrNoTables) {
		m.doubt() // the tables are gone: the next look finds what to do without
	}
	return err
}

func (m *mirror) compare(ctx context.Context) error {
	epoch, mirrored := m.agreed()
	if m.held != nil && (m.held.Err() != nil || epoch != m.epoch || !mirrored || time.Since(m.loaded) > mirrorReload) {
		m.forget()
	}
	if epoch == "" || !mirrored {
		return nil
	}
	if m.held == nil {
		held, release, err := m.lock(ctx, "mirror")
		if err != nil || held == nil {
			return err
		}
		m.held, m.release, m.epoch, m.loaded = held, release, epoch, time.Now()
	}
	if m.copies == nil {
		copies, err := m.load(m.held)
		if err != nil || copies == nil {
			return err
		}
		m.copies = copies
	}
	for _, c := range m.copies {
		if saved, err := m.walk(m.held, c); err != nil || !saved {
			m.copies = nil // read anew, since nobody knows what was written
			return err
		}
	}
	return nil
}

// load reads the copies from MySQL, after the number: who writes them meanwhile
// makes it another one. None are returned where Redis is an older copy of itself.
func (m *mirror) load(ctx context.Context) (copies []*setCopy, err error) {
	number, older, err := m.counted(ctx)
	if err != nil {
		return nil, err
	}
	if older {
		m.doubt()
		return nil, nil
	}
	m.number = number
	for _, set := range m.sets() {
		c := newSetCopy(set)
		for after := ""; ; {
			page, err := m.o.Store.Dues(ctx, set, after, mirrorPage)
			if err != nil {
				return nil, err
			}
			if len(page) == 0 {
				break
			}
			c.load(page)
			after = page[len(page)-1].Member
		}
		copies = append(copies, c)
	}
	return copies, nil
}

// walk goes on over one set, at most mirrorMost members or to its end. False
// means that what differs could not be saved.
func (m *mirror) walk(ctx context.Context, c *setCopy) (saved bool, err error) {
	for seen := 0; seen < mirrorMost; {
		members, next, err := m.o.Scripts.ScanSet(ctx, c.set, c.cursor, mirrorPage)
		if err != nil {
			return false, err
		}
		seen += max(len(members), 1)
		put := c.compare(m.dues(c.set, members))
		var gone []string
		if next == 0 {
			if gone, err = m.gone(ctx, c); err != nil {
				return false, err
			}
		}
		for len(put)+len(gone) > 0 {
			some := gone[:min(len(gone), mirrorPage)]
			if saved, err := m.save(ctx, c.set, put, some); err != nil || !saved {
				return false, err
			}
			c.apply(put, some)
			put, gone = nil, gone[len(some):]
		}
		c.cursor = next
		if next == 0 {
			c.walked()
			break
		}
	}
	return true, nil
}

// save writes what differs, after it has counted the write in Redis: so Redis
// remembers all that it remembers the number of. False means that Redis has lost
// its memory or the last of it, or that somebody else mirrors.
func (m *mirror) save(ctx context.Context, set string, put []Due, gone []string) (saved bool, err error) {
	// Read last: what was read before is of this memory.
	now, err := m.o.Scripts.ReadEpoch(ctx)
	if err != nil || now != m.epoch {
		return false, err
	}
	counted, err := m.o.Scripts.CountMirrored(ctx, m.number)
	if err == nil && counted {
		m.number++
		saved, err = m.o.Store.SaveDues(ctx, m.number, set, put, gone)
		if err == nil && !saved {
			// One Redis gives each number once. Where nobody has counted on here, MySQL has
			// it from another one, such as a master that is cut off, and what that one knew
			// is not here.
			err = m.o.Scripts.ForgetMirrored(ctx, m.number)
		}
	}
	switch {
	case err != nil:
		return false, err
	case !saved:
		m.doubt()
		return false, nil
	}
	m.metrics.mirrorWritten.Add(float64(len(put) + len(gone)))
	return true, nil
}

// gone returns what a walk has not seen and is not there: a walk can miss what
// was removed and added again.
func (m *mirror) gone(ctx context.Context, c *setCopy) (gone []string, err error) {
	for batch := range slices.Chunk(c.missing(), mirrorPage) {
		scores, err := m.o.Scripts.Scores(ctx, c.set, batch)
		if err != nil {
			return nil, err
		}
		for _, member := range batch {
			if _, there := scores[member]; !there {
				gone = append(gone, member)
			}
		}
	}
	return gone, nil
}

// dues converts members, without those that are not mirrored: steps of a job,
// which are lost with its state, and what the table does not take.
func (m *mirror) dues(set string, members []redis.Z) []Due {
	var dues []Due
	for _, z := range members {
		member, _ := z.Member.(string)
		if set == m.o.Scripts.Delayed() && !report.ValidID(member) || member == "" || len(member) > longestMember {
			continue
		}
		// Rounded up: nothing comes back before its time.
		if at := math.Ceil(z.Score); math.Abs(at) < 1<<53 {
			dues = append(dues, Due{Member: member, At: int64(at)})
		}
	}
	return dues
}
