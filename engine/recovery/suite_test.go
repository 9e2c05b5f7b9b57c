package recovery

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// tables is a Store for tests of what is done with one.
type tables struct {
	mu      sync.Mutex
	epoch   string
	version string
	parts   []Part
	fail    error // of SetEpoch
	unread  error // of Snapshot
	writes  int   // calls of SaveSnapshot
	missing bool

	meanwhile func() // happens once before SaveSnapshot
}

var _ Store = (*tables)(nil)

func newTables() *tables { return &tables{} }

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

func (m *tables) SnapshotVersion(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version, m.there()
}

func (m *tables) Snapshot(context.Context) (string, []Part, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unread != nil {
		return "", nil, m.unread
	}
	return m.version, m.parts, m.there()
}

func (m *tables) SaveSnapshot(_ context.Context, before, now string, all []Part) (bool, error) {
	if f := m.meanwhile; f != nil {
		m.meanwhile = nil
		f()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.there(); err != nil || m.version != before {
		return false, err
	}
	m.version, m.parts = now, all
	m.writes++
	return true, nil
}

// of has the members of one set of the snapshot.
func (m *tables) of(t testing.TB, set string) map[string]int64 {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]int64{}
	for _, p := range m.parts {
		all, err := p.decode()
		if n := all.Sets.count() + len(all.Pauses); err != nil || n != p.Members {
			t.Fatal(n, p.Members, err)
		}
		maps.Copy(found, all.Sets[set])
	}
	return found
}

// jobs start all records.
type jobs struct{ started []string }

func (j *jobs) StartLost(ctx context.Context, records []engine.Record, _ string, valid func(context.Context) error) (l trigger.Lost, err error) {
	if err := valid(ctx); err != nil {
		return l, err
	}
	for _, r := range records {
		j.started = append(j.started, r.ID)
	}
	l.Started = len(records)
	return l, nil
}

// noRecords is a table without rows.
type noRecords struct{}

func (noRecords) Startable(context.Context, string, time.Duration, int) ([]engine.Record, error) {
	return nil, nil
}

// bench has keys of its own.
type bench struct {
	t       testing.TB
	client  *redis.Client
	scripts *scripts.Scripts
	tables  *tables
	jobs    *jobs
}

func TestMain(m *testing.M) { testmain.Main(m) }

func newBench(t testing.TB) *bench {
	t.Helper()
	return newBenchOn(t, testmain.SharedRedis(t))
}

func newBenchOn(t testing.TB, server *testenv.Redis) *bench {
	t.Helper()
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}})
	return &bench{t: t, client: client, scripts: s, tables: newTables(), jobs: &jobs{}}
}

// process is the recovery of one more process.
func (b *bench) process() *Recovery {
	b.t.Helper()
	r, err := New(Options{
		Scripts: b.scripts, Jobs: b.jobs, Records: noRecords{}, Grace: time.Minute, Rate: 1000,
		Store: b.tables, PassEvery: time.Hour, SnapshotEvery: 20 * time.Millisecond,
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
	b.poll(&watcher{Recovery: r})
	if epoch, _ := r.agreed(); epoch == "" || epoch != b.tables.epoch {
		b.t.Fatalf("epoch %q, noted %q", epoch, b.tables.epoch)
	}
	return r
}

func (b *bench) poll(w *watcher) {
	b.t.Helper()
	if err := w.poll(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// forget is FLUSHALL for the keys of this test.
func (b *bench) forget() {
	b.t.Helper()
	for _, prefix := range []string{b.scripts.Keys.Prefix, "{" + b.scripts.Keys.Hash, b.scripts.Keys.Hash} {
		keys := b.client.Keys(b.t.Context(), prefix+"*").Val()
		if len(keys) > 0 {
			if err := b.client.Del(b.t.Context(), keys...).Err(); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// save adds to the snapshot what Redis does not know, as another Redis would.
func (b *bench) save(set string, put map[string]int64) {
	b.t.Helper()
	all := members{}
	for _, other := range sets(b.scripts.Keys) {
		all[other[0]] = b.tables.of(b.t, other[0])
	}
	maps.Copy(all[set], put)
	part, err := content{Sets: all}.encode()
	if err != nil {
		b.t.Fatal(err)
	}
	before := b.tables.version
	if ok, err := b.tables.SaveSnapshot(b.t.Context(), before, nextVersion(before, ""), []Part{part}); err != nil || !ok {
		b.t.Fatal(ok, err)
	}
}

// paused pauses a member.
func (b *bench) paused(member string) {
	b.t.Helper()
	of := scripts.Hold{Who: "ann", Reason: "busy"}
	if _, err := (scripts.Partitions{b.scripts}).Hold(b.t.Context(), member, of); err != nil {
		b.t.Fatal(err)
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
