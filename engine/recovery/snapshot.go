package recovery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/step"
)

const (
	// snapshotEvery is the time between two snapshots, if something has changed.
	snapshotEvery = 5 * time.Second
	// The next one waits snapshotShare times as long as a snapshot takes, and a second for
	// each snapshotRate bytes of it: so all of them take a twentieth of the time at most,
	// and MySQL is written to at this rate at most, however large the sets are and however
	// often they change.
	snapshotShare = 20
	snapshotRate  = 64 << 10
	// snapshotAnyway is the age from which a snapshot is made although nothing seems to
	// have changed.
	snapshotAnyway = 10 * time.Minute
)

// snapshots saves delayed ids, timers and pauses in MySQL, in one process at a time.
func (r *Recovery) snapshots(ctx context.Context) error {
	s := newSnapshotter(r)
	defer func() { s.release(ctx) }()
	return step.Every(ctx, r.log, r.o.SnapshotEvery, "save a snapshot of due times and timers", s.once)
}

// snapshotter is the state of the process that makes the snapshots.
type snapshotter struct {
	*Recovery
	changes changes

	leased  context.Context // ends when the lock is lost; nil without it
	unlock  func()
	epoch   string    // in which the lock was taken
	next    time.Time // before which no snapshot is made
	taken   time.Time // of the last one; zero: the next one must not wait for a change
	version string    // that it was saved with
	parts   []Part    // of it
}

func newSnapshotter(r *Recovery) *snapshotter {
	return &snapshotter{Recovery: r, changes: changes{scripts: r.o.Scripts}}
}

// release releases the lock.
func (s *snapshotter) release(ctx context.Context) {
	if s.leased != nil {
		s.unlock()
	}
	s.changes.end(ctx)
	s.leased, s.taken = nil, time.Time{}
}

// once makes a snapshot if it is time and something has changed.
func (s *snapshotter) once(ctx context.Context) error {
	epoch, stored := s.agreed()
	if s.leased != nil && (s.leased.Err() != nil || epoch != s.epoch || !stored) {
		s.release(ctx)
	}
	if epoch == "" || !stored || time.Now().Before(s.next) {
		return nil
	}
	if s.leased == nil {
		held, unlock, err := s.lock(ctx, "snapshot")
		if err != nil || held == nil {
			return err
		}
		s.leased, s.unlock, s.epoch = held, unlock, epoch
	}
	if time.Since(s.taken) < snapshotAnyway && !s.changes.seen(ctx) {
		return nil
	}
	began := time.Now()
	bytes, done, err := s.take(s.leased)
	s.next = began.Add(max(snapshotShare*time.Since(began), time.Duration(bytes)*time.Second/snapshotRate))
	if s.taken = began; !done {
		s.taken = time.Time{}
	}
	if errors.Is(err, ErrNoTables) {
		s.doubt() // the tables are gone: the watch finds what to do without
	}
	return err
}

// take makes a snapshot, unless Redis has other data than MySQL expects, or older data: missing
// members were then lost, not removed. Redis stores the version of the snapshot after its sets were
// read and before it is saved. So a Redis that knows the version of the snapshot in MySQL, or a
// later one, knows all of its content.
func (s *snapshotter) take(ctx context.Context) (bytes int, done bool, err error) {
	saved, known, older, err := s.versions(ctx)
	if err != nil || older {
		if older {
			s.doubt()
		}
		return 0, false, err
	}
	all, err := s.read(ctx)
	if err != nil {
		return 0, false, err
	}
	// Read last: what was read before is of this memory.
	if now, err := s.o.Scripts.Epoch.Read(ctx); err != nil || now != s.epoch {
		return 0, false, err
	}
	for _, p := range all {
		bytes += len(p.Data)
	}
	if saved != "" && saved == s.version && reflect.DeepEqual(all, s.parts) {
		return 0, true, nil // steps have come and gone, or what has changed is as it was
	}
	next := nextVersion(saved, known)
	ok, err := s.o.Scripts.Epoch.NextSnapshot(ctx, known, next)
	if err == nil && ok {
		ok, err = s.o.Store.SaveSnapshot(ctx, saved, next, all)
	}
	if err == nil && !ok {
		s.doubt() // another process, or another Redis, has made one meanwhile
	}
	if err != nil || !ok {
		return bytes, false, err
	}
	s.version, s.parts = next, all
	s.metrics.snapshots.Inc()
	return bytes, true, nil
}

// read reads the sets. Changes during the read are in the next snapshot.
func (s *snapshotter) read(ctx context.Context) (all []Part, err error) {
	keys := []string{s.o.Scripts.Keys.Holds}
	for _, set := range sets(s.o.Scripts.Keys) {
		keys = append(keys, set[1])
	}
	s.changes.begin(ctx, keys)
	part := content{Sets: members{}}
	if part.Pauses, err = s.o.Scripts.Epoch.Pauses(ctx); err != nil {
		return nil, err
	}
	flush := func() error {
		p, err := part.encode()
		all, part = append(all, p), content{Sets: members{}}
		return err
	}
	for _, set := range sets(s.o.Scripts.Keys) {
		for page, err := range s.o.Scripts.Sets.Scan(ctx, set[1]) {
			if err != nil {
				return nil, err
			}
			if part.Sets.add(set[0], page); len(part.Sets[set[0]]) < partMembers {
				continue
			}
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return all, flush()
}

// versions returns the version of the snapshot in MySQL and the one that Redis knows, and whether
// this Redis is an older copy of itself.
func (r *Recovery) versions(ctx context.Context) (saved, known string, older bool, err error) {
	if saved, err = r.o.Store.SnapshotVersion(ctx); err != nil { // read first, since it is written last
		return "", "", false, err
	}
	if known, err = r.o.Scripts.Epoch.ReadSnapshot(ctx); err != nil {
		return "", "", false, err
	}
	return saved, known, saved != known && versionNumber(saved) >= max(versionNumber(known), 1), nil
}

// nextVersion returns a version later than both. It is unique, even if two copies of a Redis make a
// snapshot at once.
func nextVersion(saved, known string) string {
	return fmt.Sprintf("%d.%s", max(versionNumber(saved), versionNumber(known))+1, rand.Text()[:10])
}

// versionNumber returns the number of a snapshot; 0: none.
func versionNumber(version string) int64 {
	number, _, _ := strings.Cut(version, ".")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}
