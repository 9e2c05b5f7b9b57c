package recovery

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/step"
)

const (
	// snapshotEvery is the time between two snapshots, if something has changed.
	snapshotEvery = 5 * time.Second
	// snapshotShare is how many times as long as a snapshot takes the next one waits: so
	// all of them take at most a twentieth of one core, however large the sets are and
	// however often they change.
	snapshotShare = 20
	// snapshotAnyway is the age from which a snapshot is made although nothing seems to
	// have changed.
	snapshotAnyway = 10 * time.Minute
	// scanPage is how many members are read from Redis at once.
	scanPage = 1000
	// partMembers is how many members a part has, about: of a large set that changes a
	// little, little is written.
	partMembers = 1000
)

// snapshots keeps the snapshot in MySQL: what is due later, in one process at a time.
func (r *Recovery) snapshots(ctx context.Context) error {
	s := newSnapshotter(r)
	defer func() { s.release(ctx) }()
	return step.Every(ctx, r.log, r.o.SnapshotEvery, "save a snapshot of due times and timers", s.once)
}

// snapshotter is what the process that makes the snapshots remembers.
type snapshotter struct {
	*Recovery
	changes changes
	seed    maphash.Seed

	held    context.Context // ends when the lock is lost; nil without it
	unlock  func()
	epoch   string    // in which the lock was taken
	next    time.Time // before which no snapshot is made
	taken   time.Time // of the last one; zero: the next one must not wait for a change
	version string    // of that one; empty: it is not known what MySQL has
	saved   map[partKey][sha256.Size]byte
	split   map[string]int // parts of each set
}

func newSnapshotter(r *Recovery) *snapshotter {
	return &snapshotter{Recovery: r, changes: changes{client: r.o.Redis}, seed: maphash.MakeSeed(), split: map[string]int{}}
}

// partKey names a part.
type partKey struct {
	set    string
	number int
}

// release gives the lock back, and forgets what MySQL has.
func (s *snapshotter) release(ctx context.Context) {
	if s.held != nil {
		s.unlock()
	}
	s.changes.end(ctx)
	s.held, s.taken, s.version = nil, time.Time{}, ""
}

// once makes a snapshot if it is time and something has changed.
func (s *snapshotter) once(ctx context.Context) error {
	epoch, stored := s.agreed()
	if s.held != nil && (s.held.Err() != nil || epoch != s.epoch || !stored) {
		s.release(ctx)
	}
	if epoch == "" || !stored || time.Now().Before(s.next) {
		return nil
	}
	if s.held == nil {
		held, unlock, err := s.lock(ctx, "snapshot")
		if err != nil || held == nil {
			return err
		}
		s.held, s.unlock, s.epoch = held, unlock, epoch
	}
	if time.Since(s.taken) < snapshotAnyway && !s.changes.seen(ctx) {
		return nil
	}
	began := time.Now()
	done, err := s.take(s.held)
	s.next = began.Add(snapshotShare * time.Since(began))
	if s.taken = began; !done {
		s.taken, s.version = time.Time{}, ""
	}
	if errors.Is(err, ErrNoTables) {
		s.doubt() // the tables are gone: the watch finds what to do without
	}
	return err
}

// take makes a snapshot, unless Redis has not the memory that MySQL knows, or not the
// last of it: what is missing then was lost, and not removed. Redis notes the version of
// the snapshot after its sets were read, and before it is saved: so a Redis that knows
// the version of the snapshot in MySQL, or a later one, knows all that is in it.
func (s *snapshotter) take(ctx context.Context) (done bool, err error) {
	before, known, older, err := s.versions(ctx)
	if err != nil || older {
		if older {
			s.doubt()
		}
		return false, err
	}
	var keys []string
	for _, set := range setKeys(s.o.Scripts.Keys) {
		keys = append(keys, set[1])
	}
	s.changes.begin(ctx, keys) // what changes while they are read is in the next one, too
	whole := before == "" || before != s.version
	parts, sums, err := s.read(ctx, whole)
	if err != nil {
		return false, err
	}
	// Read last: what was read before is of this memory.
	if now, err := s.o.Scripts.ReadEpoch(ctx); err != nil || now != s.epoch {
		return false, err
	}
	if len(parts) == 0 && !whole {
		return true, nil
	}
	next := nextVersion(before, known)
	ok, err := s.o.Scripts.NextSnapshot(ctx, known, next)
	if err == nil && ok {
		ok, err = s.o.Store.SaveSnapshot(ctx, before, next, parts, whole)
	}
	if err == nil && !ok {
		s.doubt() // another process, or another Redis, has made one meanwhile
	}
	if err != nil || !ok {
		return false, err
	}
	s.version, s.saved = next, sums
	s.metrics.snapshots.Inc()
	return true, nil
}

// read returns the parts that differ from those that are saved, or with whole all of
// them; and the sums of all.
func (s *snapshotter) read(ctx context.Context, whole bool) (parts []Part, sums map[partKey][sha256.Size]byte, err error) {
	sums = map[partKey][sha256.Size]byte{}
	for _, set := range setKeys(s.o.Scripts.Keys) {
		lines, counts, err := s.readSet(ctx, set[0], set[1])
		if err != nil {
			return nil, nil, err
		}
		for i := range lines {
			if counts[i] == 0 {
				continue
			}
			key := partKey{set[0], i}
			sums[key] = sha256.Sum256(lines[i])
			if whole || sums[key] != s.saved[key] {
				parts = append(parts, Part{Set: set[0], Number: i, Members: counts[i], Data: encode(lines[i])})
			}
		}
	}
	for key := range s.saved {
		if _, ok := sums[key]; !ok && !whole {
			parts = append(parts, Part{Set: key.set, Number: key.number})
		}
	}
	return parts, sums, nil
}

// readSet returns the lines of each part of a set, and how many these are. A member is
// always in the same part as long as the set has about as many members.
func (s *snapshotter) readSet(ctx context.Context, set, key string) (lines [][]byte, counts []int, err error) {
	size, err := s.o.Scripts.Size(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if n := s.split[set]; n == 0 || size > 4*partMembers*n || size < partMembers*n/4 {
		s.split[set] = 1 << bits.Len(uint(size/partMembers))
	}
	lines, counts = make([][]byte, s.split[set]), make([]int, s.split[set])
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, next, err := s.o.Scripts.ScanSet(ctx, key, cursor, scanPage)
		if err != nil {
			return nil, nil, err
		}
		for _, z := range page {
			if member, at, ok := due(set, z); ok {
				i := maphash.String(s.seed, member) % uint64(len(lines))
				lines[i] = appendLine(lines[i], member, at)
				counts[i]++
			}
		}
		cursor = next
	}
	return lines, counts, nil
}

// versions returns the version of the snapshot in MySQL and of the one that Redis knows,
// and whether this Redis is an older copy of itself.
func (r *Recovery) versions(ctx context.Context) (saved, known string, older bool, err error) {
	if saved, err = r.o.Store.SnapshotVersion(ctx); err != nil { // read first, since it is written last
		return "", "", false, err
	}
	if known, err = r.o.Scripts.ReadSnapshot(ctx); err != nil {
		return "", "", false, err
	}
	return saved, known, saved != known && versionNumber(saved) >= max(versionNumber(known), 1), nil
}

// nextVersion is later than both. No two are the same, even if two copies of a Redis
// make one at once.
func nextVersion(saved, known string) string {
	return fmt.Sprintf("%d.%s", max(versionNumber(saved), versionNumber(known))+1, rand.Text()[:10])
}

// versionNumber counts the snapshots; 0 without any.
func versionNumber(version string) int64 {
	number, _, _ := strings.Cut(version, ".")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}
