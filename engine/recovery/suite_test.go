package recovery

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/scripts"
)

// tables is a Store for tests of what is done with one.
type tables struct {
	mu      sync.Mutex
	epoch   string
	number  int64
	sets    map[string]map[string]int64
	fail    error // of SetEpoch
	unread  error // of Dues
	writes  int   // calls of SaveDues
	largest int   // rows in one of them
	missing bool
}

var _ Store = (*tables)(nil)

func newTables() *tables { return &tables{sets: map[string]map[string]int64{}} }

func (m *tables) there() error {
	if m.missing {
		return ErrNoTables
	}
	return nil
}

func (m *tables) Epoch(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch, m.there()
}

func (m *tables) SetEpoch(_ context.Context, before, now string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil || m.epoch != before {
		return false, m.fail
	}
	m.epoch = now
	return true, m.there()
}

func (m *tables) Dues(_ context.Context, set, after string, most int) ([]Due, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var dues []Due
	for _, member := range slices.Sorted(maps.Keys(m.sets[set])) {
		if member > after && len(dues) < most {
			dues = append(dues, Due{Member: member, At: m.sets[set][member]})
		}
	}
	if m.unread != nil {
		return nil, m.unread
	}
	return dues, m.there()
}

func (m *tables) Mirrored(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.number, m.there()
}

func (m *tables) SaveDues(_ context.Context, number int64, set string, put []Due, remove []string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if number <= m.number {
		return false, m.there()
	}
	m.number = number
	m.writes++
	m.largest = max(m.largest, len(put)+len(remove))
	if m.sets[set] == nil {
		m.sets[set] = map[string]int64{}
	}
	for _, d := range put {
		m.sets[set][d.Member] = d.At
	}
	for _, member := range remove {
		delete(m.sets[set], member)
	}
	return true, m.there()
}

// of is a copy of one set.
func (m *tables) of(set string) map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.sets[set]) == 0 {
		return map[string]int64{}
	}
	return maps.Clone(m.sets[set])
}

// jobs are all lost that are not known.
type jobs struct {
	known   map[string]bool
	started []string
}

func (j *jobs) Lost(_ context.Context, records []engine.Record) (lost []engine.Record, skipped []string, err error) {
	for _, r := range records {
		if !j.known[r.ID] {
			lost = append(lost, r)
		}
	}
	return lost, nil, nil
}

func (j *jobs) Admit(context.Context) (int, error) { return 10, nil }

func (j *jobs) StartLost(_ context.Context, records []engine.Record, _ string) (started, failed int, err error) {
	for _, r := range records {
		j.started = append(j.started, r.ID)
	}
	return len(records), 0, nil
}

// noRecords is a table without rows.
type noRecords struct{}

func (noRecords) Startable(context.Context, string, time.Duration, int) ([]engine.Record, error) {
	return nil, nil
}

// bench has keys of its own.
type bench struct {
	t       *testing.T
	client  *redis.Client
	scripts *scripts.Scripts
	tables  *tables
	jobs    *jobs
}

func TestMain(m *testing.M) { testmain.Main(m) }

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, testmain.SharedRedis(t))
}

func newBenchOn(t *testing.T, server *testenv.Redis) *bench {
	t.Helper()
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	s := scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: name + ":", Hash: name + "-"}})
	return &bench{t: t, client: client, scripts: s, tables: newTables(), jobs: &jobs{}}
}

// process is the recovery of one more process.
func (b *bench) process() *Recovery {
	b.t.Helper()
	r, err := New(Options{
		Scripts: b.scripts, Jobs: b.jobs, Records: noRecords{}, Grace: time.Minute, Rate: 1000,
		Store: b.tables, PassEvery: time.Hour, MirrorEvery: 20 * time.Millisecond,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// recovery is that of a process whose Redis has its memory.
func (b *bench) recovery() *Recovery {
	b.t.Helper()
	r := b.process()
	b.look(&watcher{Recovery: r})
	if epoch, _ := r.agreed(); epoch == "" || epoch != b.tables.epoch {
		b.t.Fatalf("epoch %q, noted %q", epoch, b.tables.epoch)
	}
	return r
}

func (b *bench) look(w *watcher) {
	b.t.Helper()
	if err := w.look(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// forget is FLUSHALL for the keys of this test.
func (b *bench) forget() {
	b.t.Helper()
	for _, prefix := range []string{b.scripts.Prefix, "{" + b.scripts.Hash, b.scripts.Hash} {
		keys := b.client.Keys(b.t.Context(), prefix+"*").Val()
		if len(keys) > 0 {
			if err := b.client.Del(b.t.Context(), keys...).Err(); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// save mirrors what Redis does not have.
func (b *bench) save(set string, put ...Due) {
	b.t.Helper()
	if ok, err := b.tables.SaveDues(b.t.Context(), b.tables.number+1, set, put, nil); err != nil || !ok {
		b.t.Fatal(ok, err)
	}
}

func (b *bench) add(set, member string, score float64) {
	b.t.Helper()
	if err := b.client.ZAdd(b.t.Context(), set, redis.Z{Member: member, Score: score}).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// scores is a set in Redis.
func (b *bench) scores(set string) map[string]int64 {
	b.t.Helper()
	all, err := b.client.ZRangeWithScores(b.t.Context(), set, 0, -1).Result()
	if err != nil {
		b.t.Fatal(err)
	}
	scores := map[string]int64{}
	for _, z := range all {
		scores[z.Member.(string)] = int64(z.Score)
	}
	return scores
}
